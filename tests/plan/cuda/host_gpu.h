// CUDA C for the host: a grid is run block by block, the threads of a block take turns at each __syncthreads().
#pragma once
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <ucontext.h>

#define __global__
#define __device__
#define __shared__ static

using std::complex;

struct Three { unsigned x = 1, y = 1, z = 1; };
static Three gridDim, blockDim, blockIdx, threadIdx;

static inline double __dadd_rn(double a, double b) { return a + b; }
static inline double __dsub_rn(double a, double b) { return a - b; }
static inline double __dmul_rn(double a, double b) { return a * b; }
static inline float __fadd_rn(float a, float b) { return a + b; }
static inline float __fsub_rn(float a, float b) { return a - b; }
static inline float __fmul_rn(float a, float b) { return a * b; }
template <typename To, typename From> static inline To same_bits(From x) {
  To y;
  static_assert(sizeof x == sizeof y, "as many bits");
  memcpy(&y, &x, sizeof y);
  return y;
}
static inline double __longlong_as_double(long long x) { return same_bits<double>(x); }
static inline long long __double_as_longlong(double x) { return same_bits<long long>(x); }
static inline float __int_as_float(int x) { return same_bits<float>(x); }
static inline int __float_as_int(float x) { return same_bits<int>(x); }

typedef void (*Function)(const long long*, long long, long long, char*);

namespace host_gpu {
const int MOST = 256, STACK = 1 << 16;
ucontext_t block, threads[MOST];
alignas(64) char stacks[MOST][STACK];
bool done[MOST];
unsigned turn;
Function function;
const long long* table;
long long jobs, chunks;
char* scratch;

void thread() {
  function(table, jobs, chunks, scratch);
  done[turn] = true;
}

void run_block() {
  for (unsigned t = 0; t < blockDim.x; ++t) {
    done[t] = false;
    getcontext(&threads[t]);
    threads[t].uc_stack.ss_sp = stacks[t];
    threads[t].uc_stack.ss_size = STACK;
    threads[t].uc_link = &block;
    makecontext(&threads[t], thread, 0);
  }
  for (bool some = true; some;) {
    some = false;
    for (turn = 0; turn < blockDim.x; ++turn) {
      if (done[turn]) continue;
      threadIdx.x = turn;
      swapcontext(&block, &threads[turn]);
      some = some || !done[turn];
    }
  }
}
}  // namespace host_gpu

static inline void __syncthreads() {
  const unsigned mine = host_gpu::turn;
  swapcontext(&host_gpu::threads[mine], &host_gpu::block);
  threadIdx.x = mine;
}

extern "C" void launch(Function function, unsigned blocks, unsigned rows, unsigned threads, const long long* table, long long jobs,
                       long long chunks, char* scratch) {
  gridDim.x = blocks;
  gridDim.y = rows;
  blockDim.x = threads;
  host_gpu::function = function;
  host_gpu::table = table;
  host_gpu::jobs = jobs;
  host_gpu::chunks = chunks;
  host_gpu::scratch = scratch;
  for (blockIdx.y = 0; blockIdx.y < rows; ++blockIdx.y)
    for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x) host_gpu::run_block();
}
