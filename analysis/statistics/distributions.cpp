#include "analysis/statistics/distributions.hpp"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <limits>

namespace spillway::analysis {
namespace {

namespace policies = boost::math::policies;
// Nothing throws: an argument that slips through gives NaN, an overflow infinity.
using Quiet = policies::policy<policies::domain_error<policies::ignore_error>, policies::pole_error<policies::ignore_error>,
                               policies::overflow_error<policies::ignore_error>,
                               policies::evaluation_error<policies::ignore_error>>;
using StudentT = boost::math::students_t_distribution<double, Quiet>;
using Normal = boost::math::normal_distribution<double, Quiet>;
using Binomial = boost::math::binomial_distribution<double, Quiet>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

double student_t_quantile(double p, double df) {
  if (p <= 0.0) return -kInfinity;
  if (p >= 1.0 || !(df > 0.0)) return kInfinity;
  return boost::math::quantile(StudentT{df}, p);
}

double student_t_cdf(double t, double df) {
  if (!(df > 0.0)) return 0.5;
  if (t == kInfinity) return 1.0;
  if (t == -kInfinity) return 0.0;
  return boost::math::cdf(StudentT{df}, t);
}

double normal_quantile(double p) {
  if (p <= 0.0) return -kInfinity;
  if (p >= 1.0) return kInfinity;
  return boost::math::quantile(Normal{}, p);
}

double normal_cdf(double z) {
  if (z == kInfinity) return 1.0;
  if (z == -kInfinity) return 0.0;
  return boost::math::cdf(Normal{}, z);
}

double binomial_cdf(long k, std::size_t n, double p) {
  if (k < 0) return 0.0;
  if (static_cast<std::size_t>(k) >= n) return 1.0;
  return boost::math::cdf(Binomial{static_cast<double>(n), std::clamp(p, 0.0, 1.0)}, static_cast<double>(k));
}

std::size_t binomial_quantile(double q, std::size_t n, double p) {
  std::size_t k = 0;
  while (k < n && binomial_cdf(static_cast<long>(k), n, p) < q) ++k;
  return k;
}

}  // namespace spillway::analysis
