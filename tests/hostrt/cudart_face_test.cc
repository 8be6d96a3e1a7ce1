// libcudart.so.13 of the host runtime: every name of CUDA 13's library under its version, calls by
// the C names, and the answers of what is not there.
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "hostrt/runtime.h"

extern "C" {
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_memory, void* stream);
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared_memory,
                                       void* stream);
cudaError_t cudaMemcpyAsync_ptsz(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                                 cudaStream_t stream);
cudaError_t cudaStreamSynchronize_ptsz(cudaStream_t stream);
cudaError_t cudaStreamGetId_ptsz(cudaStream_t stream, unsigned long long* id);
cudaError_t cudaMemset_ptds(void* pointer, int value, size_t bytes);
cudaError_t cudaFreeArray(cudaArray_t array);
}

namespace {

TEST(Face, HasEveryNameUnderNvidiasVersion) {
  std::ifstream list(RIPIENO_CUDART_NAMES);
  int names = 0;
  for (std::string name; list >> name; ++names) {
    EXPECT_NE(dlvsym(RTLD_DEFAULT, name.c_str(), "libcudart.so.13"), nullptr) << name;
  }
  EXPECT_GT(names, 400);
}

TEST(Face, IsOneRuntimeWithTheLibrary) {
  float* memory = nullptr;
  ASSERT_EQ(cudaSuccess, cudaSetDevice(2));
  ASSERT_EQ(cudaSuccess, cudaMalloc(&memory, 1000 * sizeof(float)));
  EXPECT_EQ(ripieno::hostrt::current_device(), 2);
  EXPECT_TRUE(ripieno::hostrt::arena_offset(memory));
  EXPECT_EQ(cudaSuccess, cudaMemset(memory, 0, 1000 * sizeof(float)));
  std::vector<float> ones(1000, 1.0F);
  EXPECT_EQ(cudaSuccess, cudaMemcpy(memory, ones.data(), 4000, cudaMemcpyHostToDevice));
  EXPECT_EQ(memory[999], 1.0F);
  EXPECT_EQ(cudaErrorInvalidDevice, cudaSetDevice(1000));
  EXPECT_EQ(cudaErrorInvalidDevice, cudaGetLastError());
  EXPECT_EQ(cudaSuccess, cudaFree(memory));
  EXPECT_EQ(cudaSuccess, cudaSetDevice(0));
}

TEST(Face, KernelsAreRefusedAloudOnce) {
  testing::internal::CaptureStderr();
  for (int count = 0; count < 3; ++count) {
    EXPECT_EQ(cudaErrorNotSupported,
              cudaLaunchKernel(static_cast<const void*>("kernel"), dim3(1), dim3(1), nullptr, 0,
                               static_cast<cudaStream_t>(nullptr)));
    EXPECT_EQ(cudaErrorNotSupported, cudaGetLastError());
  }
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("kernel"), std::string::npos);
  EXPECT_EQ(said.find('\n'), said.size() - 1) << "one line";
}

TEST(Face, KeepsTheLaunchConfiguration) {
  EXPECT_EQ(__cudaPushCallConfiguration(dim3(1, 2, 3), dim3(4, 5, 6), 7, cudaStreamPerThread), 0U);
  dim3 grid;
  dim3 block;
  size_t shared_memory = 0;
  cudaStream_t stream = nullptr;
  EXPECT_EQ(cudaSuccess, __cudaPopCallConfiguration(&grid, &block, &shared_memory, &stream));
  EXPECT_EQ(grid.z, 3U);
  EXPECT_EQ(block.x, 4U);
  EXPECT_EQ(shared_memory, 7U);
  EXPECT_EQ(stream, cudaStreamPerThread);
}

TEST(Face, WhatIsNotThereSaysSo) {
  EXPECT_EQ(cudaErrorNotSupported, cudaFreeArray(nullptr));
  EXPECT_EQ(cudaErrorNotSupported, cudaGetLastError());
}

TEST(Face, PerThreadNamesUseTheThreadsStream) {
  unsigned long long own = 0;
  unsigned long long named = 0;
  unsigned long long legacy = 0;
  EXPECT_EQ(cudaSuccess, cudaStreamGetId_ptsz(nullptr, &own));
  EXPECT_EQ(cudaSuccess, cudaStreamGetId(cudaStreamPerThread, &named));
  EXPECT_EQ(cudaSuccess, cudaStreamGetId_ptsz(cudaStreamLegacy, &legacy));
  EXPECT_EQ(own, named);
  EXPECT_NE(own, legacy);
  std::thread([&] {
    char* memory = nullptr;
    char text[] = "abc";
    ASSERT_EQ(cudaSuccess, cudaMalloc(&memory, 8));
    EXPECT_EQ(cudaSuccess, cudaMemset_ptds(memory, 0, 8));
    EXPECT_EQ(cudaSuccess, cudaMemcpyAsync_ptsz(memory, text, 3, cudaMemcpyHostToDevice, nullptr));
    EXPECT_EQ(cudaSuccess, cudaStreamSynchronize_ptsz(nullptr));
    EXPECT_STREQ(memory, "abc");
    EXPECT_EQ(cudaSuccess, cudaFree(memory));
  }).join();
}

}  // namespace
