// Virtual devices: properties, peers, the current device, error codes and the last error.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <thread>

#include "hostrt/support.h"

namespace ripieno::hostrt {
namespace {

TEST(Device, ThereAreEight) {
  int count = 0;
  EXPECT_CUDA(cuda::cudaGetDeviceCount(&count));
  EXPECT_EQ(count, 8);
  EXPECT_EQ(device_count(), 8);
}

TEST(Device, CurrentOneBelongsToTheThread) {
  ASSERT_CUDA(cuda::cudaSetDevice(3));
  int seen = -1;
  std::thread([&] { EXPECT_CUDA(cuda::cudaGetDevice(&seen)); }).join();
  EXPECT_EQ(seen, 0);
  EXPECT_CUDA(cuda::cudaGetDevice(&seen));
  EXPECT_EQ(seen, 3);
  EXPECT_EQ(current_device(), 3);
  EXPECT_EQ(cudaErrorInvalidDevice, cuda::cudaSetDevice(8));
  EXPECT_EQ(cudaErrorInvalidDevice, cuda::cudaSetDevice(-1));
  EXPECT_THROW(set_current_device(8), RuntimeError);
  EXPECT_EQ(current_device(), 3);
  ASSERT_CUDA(cuda::cudaSetDevice(0));
}

TEST(Device, DescribesItself) {
  std::set<std::string> bus_ids;
  std::set<std::string> uuids;
  for (int device = 0; device < 8; ++device) {
    cudaDeviceProp properties{};
    ASSERT_CUDA(cuda::cudaGetDeviceProperties(&properties, device));
    EXPECT_EQ(std::string(properties.name), "Ripieno host device " + std::to_string(device));
    EXPECT_GT(properties.totalGlobalMem, 0U);
    EXPECT_EQ(properties.major, 9);
    uuids.insert(std::string(properties.uuid.bytes, 16));
    char bus_id[32] = {};
    ASSERT_CUDA(cuda::cudaDeviceGetPCIBusId(bus_id, sizeof bus_id, device));
    bus_ids.insert(bus_id);
    int found = -1;
    EXPECT_CUDA(cuda::cudaDeviceGetByPCIBusId(&found, bus_id));
    EXPECT_EQ(found, device);
    int value = 0;
    EXPECT_CUDA(cuda::cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, device));
    EXPECT_EQ(value, properties.multiProcessorCount);
    EXPECT_CUDA(cuda::cudaDeviceGetAttribute(&value, cudaDevAttrComputeCapabilityMajor, device));
    EXPECT_EQ(value, properties.major);
    EXPECT_CUDA(cuda::cudaDeviceGetAttribute(&value, cudaDevAttrMaxGridDimY, device));
    EXPECT_EQ(value, properties.maxGridSize[1]);
  }
  EXPECT_EQ(bus_ids.size(), 8U);
  EXPECT_EQ(uuids.size(), 8U);
  char tiny[4];
  EXPECT_EQ(cudaErrorInvalidValue, cuda::cudaDeviceGetPCIBusId(tiny, sizeof tiny, 0));
  int value = 0;
  EXPECT_EQ(cudaErrorInvalidValue,
            cuda::cudaDeviceGetAttribute(&value, static_cast<cudaDeviceAttr>(9999), 0));
  EXPECT_EQ(cudaErrorInvalidDevice, cuda::cudaDeviceGetByPCIBusId(&value, "0000:00:00.0"));
}

TEST(Device, PeersAreEnabledOnce) {
  int can = 0;
  EXPECT_CUDA(cuda::cudaDeviceCanAccessPeer(&can, 0, 1));
  EXPECT_EQ(can, 1);
  EXPECT_CUDA(cuda::cudaDeviceCanAccessPeer(&can, 2, 2));
  EXPECT_EQ(can, 0);
  EXPECT_EQ(cudaErrorPeerAccessNotEnabled, cuda::cudaDeviceDisablePeerAccess(1));
  EXPECT_CUDA(cuda::cudaDeviceEnablePeerAccess(1, 0));
  EXPECT_EQ(cudaErrorPeerAccessAlreadyEnabled, cuda::cudaDeviceEnablePeerAccess(1, 0));
  EXPECT_CUDA(cuda::cudaDeviceDisablePeerAccess(1));
  EXPECT_EQ(cudaErrorInvalidDevice, cuda::cudaDeviceEnablePeerAccess(0, 0));
  EXPECT_EQ(cudaErrorInvalidValue, cuda::cudaDeviceEnablePeerAccess(1, 7));
  EXPECT_CUDA(cuda::cudaDeviceEnablePeerAccess(1, 0));
  EXPECT_CUDA(cuda::cudaDeviceReset());
  EXPECT_EQ(cudaErrorPeerAccessNotEnabled, cuda::cudaDeviceDisablePeerAccess(1));
}

TEST(Error, LastOneStaysUntilTaken) {
  static_cast<void>(cuda::cudaGetLastError());
  EXPECT_EQ(cudaErrorInvalidDevice, cuda::cudaSetDevice(99));
  int count = 0;
  EXPECT_CUDA(cuda::cudaGetDeviceCount(&count));
  EXPECT_EQ(cudaErrorInvalidDevice, cuda::cudaPeekAtLastError());
  std::thread([] { EXPECT_CUDA(cuda::cudaPeekAtLastError()); }).join();
  EXPECT_EQ(cudaErrorInvalidDevice, cuda::cudaGetLastError());
  EXPECT_CUDA(cuda::cudaGetLastError());
}

TEST(Error, HasANameAndAText) {
  EXPECT_STREQ(cuda::cudaGetErrorName(cudaErrorInvalidValue), "cudaErrorInvalidValue");
  EXPECT_STREQ(cuda::cudaGetErrorName(cudaErrorStreamCaptureUnjoined),
               "cudaErrorStreamCaptureUnjoined");
  EXPECT_STREQ(cuda::cudaGetErrorString(cudaSuccess), "no error");
  EXPECT_STREQ(cuda::cudaGetErrorName(static_cast<cudaError_t>(12345)), "unrecognized error code");
}

TEST(Version, IsThirteen) {
  int version = 0;
  EXPECT_CUDA(cuda::cudaRuntimeGetVersion(&version));
  EXPECT_EQ(version, 13000);
  EXPECT_CUDA(cuda::cudaDriverGetVersion(&version));
  EXPECT_EQ(version, 13000);
}

TEST(Driver, HasNoEntryPoints) {
  void* function = &function;
  cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSuccess;
  EXPECT_CUDA(cuda::cudaGetDriverEntryPoint("cuMemCreate", &function, cudaEnableDefault, &result));
  EXPECT_EQ(function, nullptr);
  EXPECT_EQ(result, cudaDriverEntryPointSymbolNotFound);
}

}  // namespace
}  // namespace ripieno::hostrt
