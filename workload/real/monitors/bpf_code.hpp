#pragma once
/// Small BPF programs written by hand: instructions one after another, and where a kernel structure's members lie
/// according to the kernel's own type information (BTF), so that no offset is assumed.

#include <bpf/btf.h>
#include <linux/bpf.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace spillway::real {

/// Byte offset of a member, from the kernel's type information.
inline std::optional<int> member_offset(const btf* types, const char* structure, std::string_view member) {
  const int id = btf__find_by_name_kind(types, structure, BTF_KIND_STRUCT);
  if (id < 0) return std::nullopt;
  const btf_type* type = btf__type_by_id(types, static_cast<unsigned>(id));
  const btf_member* members = btf_members(type);
  for (unsigned i = 0; i < btf_vlen(type); ++i)
    if (member == btf__name_by_offset(types, members[i].name_off)) return static_cast<int>(btf_member_bit_offset(type, i) / 8);
  return std::nullopt;
}

/// Instructions one after another; registers as in the BPF calling convention.
class BpfCode {
 public:
  void add(int code, int dst, int src, int off, int imm) {
    bpf_insn one{};
    one.code = static_cast<__u8>(code);
    one.dst_reg = static_cast<__u8>(dst & 0xf);
    one.src_reg = static_cast<__u8>(src & 0xf);
    one.off = static_cast<__s16>(off);
    one.imm = imm;
    code_.push_back(one);
  }
  void move(int dst, int src) { add(BPF_ALU64 | BPF_MOV | BPF_X, dst, src, 0, 0); }
  void set(int dst, int value) { add(BPF_ALU64 | BPF_MOV | BPF_K, dst, 0, 0, value); }
  void plus(int dst, int value) { add(BPF_ALU64 | BPF_ADD | BPF_K, dst, 0, 0, value); }
  void load(int dst, int src, int off) { add(BPF_LDX | BPF_MEM | BPF_DW, dst, src, off, 0); }
  void store(int off, int src) { add(BPF_STX | BPF_MEM | BPF_DW, 10, src, off, 0); }
  void call(int helper) { add(BPF_JMP | BPF_CALL, 0, 0, 0, helper); }
  void map(int dst, int fd) {
    add(BPF_LD | BPF_IMM | BPF_DW, dst, BPF_PSEUDO_MAP_FD, 0, fd);
    add(0, 0, 0, 0, 0);
  }
  void wide(int dst, std::uint64_t value) {
    add(BPF_LD | BPF_IMM | BPF_DW, dst, 0, 0, static_cast<int>(value & 0xffffffff));
    add(0, 0, 0, 0, static_cast<int>(value >> 32));
  }
  /// Makes the jump at `index` go to the next instruction to be added.
  void patch_jump(std::size_t index) { code_[index].off = static_cast<__s16>(code_.size() - index - 1); }
  void exit() { add(BPF_JMP | BPF_EXIT, 0, 0, 0, 0); }
  [[nodiscard]] const std::vector<bpf_insn>& instructions() const { return code_; }

 private:
  std::vector<bpf_insn> code_;
};

}  // namespace spillway::real
