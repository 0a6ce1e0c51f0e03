#pragma once
/// The distributions that the statistics need, from Boost.Math behind plain functions: Boost's headers are slow to
/// compile and throw; here they are in one translation unit, and arguments out of range give the limit value.

#include <cstddef>

namespace spillway::analysis {

/// Quantile of Student's t with `df` degrees of freedom (any positive real). p in (0, 1); outside: -inf or +inf.
double student_t_quantile(double p, double df);
/// P(T <= t). A `df` that is not positive gives 0.5 (nothing is known).
double student_t_cdf(double t, double df);
double normal_quantile(double p);
double normal_cdf(double z);
/// P(X <= k) for X binomial with n trials of probability p. k < 0 gives 0, k >= n gives 1.
double binomial_cdf(long k, std::size_t n, double p);
/// The smallest k with P(X <= k) >= q.
std::size_t binomial_quantile(double q, std::size_t n, double p);

}  // namespace spillway::analysis
