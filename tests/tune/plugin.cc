// A tuner plugin for the tests, of the version that it is compiled for. The variable
// RIPIENO_TEST_TUNER says what it does: "choose A P C" sets the cell of algorithm A and protocol P
// to zero, with C channels (0: none asked for); "fail" fails in getCollInfo, "refuse" in init;
// "nonsense" writes what makes no sense; "slow" raises a latency of the model; anything else leaves
// all as it is.
#include <ripieno/plugins/tuner.h>

#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

std::atomic<int> open_contexts = 0;

std::string wish() {
  const char* const text = std::getenv("RIPIENO_TEST_TUNER");
  return text == nullptr ? "" : text;
}

ncclResult_t start(ncclTunerLogger_t log, void** context) {
  if (wish() == "refuse") return ncclInternalError;
  log(3, ~0UL, __FILE__, __LINE__, "test tuner version %d starts", TUNER_VERSION);
  *context = &open_contexts;
  ++open_contexts;
  return ncclSuccess;
}

ncclResult_t end(void* context) {
  if (context != &open_contexts) return ncclInternalError;
  --open_contexts;
  return ncclSuccess;
}

struct Choice {
  int algorithm = -1;
  int protocol = -1;
  int channels = 0;
};

Choice wished_choice() {
  Choice choice;
  std::sscanf(wish().c_str(), "choose %d %d %d", &choice.algorithm, &choice.protocol,
              &choice.channels);
  return choice;
}

[[maybe_unused]] ncclResult_t edit(void* context, float** costs, int algorithms, int protocols,
                                   int* channels) {
  if (context != &open_contexts) return ncclInternalError;
  if (wish() == "fail") return ncclSystemError;
  auto* const table = reinterpret_cast<float*>(costs);
  if (wish() == "nonsense") {
    for (int cell = 0; cell < algorithms * protocols; ++cell) {
      table[cell] = cell % 2 == 0 ? std::nanf("") : -INFINITY;
    }
    *channels = 1 << 30;
    return ncclSuccess;
  }
  const Choice choice = wished_choice();
  if (choice.algorithm < 0 || choice.algorithm >= algorithms) return ncclSuccess;
  table[choice.algorithm * protocols + choice.protocol] = 0.0F;
  if (choice.channels > 0) *channels = choice.channels;
  return ncclSuccess;
}

}  // namespace

extern "C" {

#if TUNER_VERSION == 2
static ncclResult_t init(size_t, size_t, ncclTunerLogger_t log, void** context) {
  return start(log, context);
}
static ncclResult_t get(void* context, int, size_t, int, int, int, int* algorithm, int* protocol,
                        int* channels) {
  if (context != &open_contexts) return ncclInternalError;
  if (wish() == "fail") return ncclSystemError;
  if (wish() == "nonsense") {
    *algorithm = 1000;
    *protocol = 1000;
    return ncclSuccess;
  }
  const Choice choice = wished_choice();
  *algorithm = choice.algorithm;
  *protocol = choice.protocol;
  if (choice.channels > 0) *channels = choice.channels;
  return ncclSuccess;
}
extern const ncclTuner_v2_t ncclTunerPlugin_v2 = {"test v2", init, get, end};
#elif TUNER_VERSION == 3
static ncclResult_t init(size_t, size_t, ncclTunerLogger_t log, void** context) {
  return start(log, context);
}
static ncclResult_t get(void* context, int, size_t, int, float** costs, int algorithms,
                        int protocols, int* channels) {
  return edit(context, costs, algorithms, protocols, channels);
}
extern const ncclTuner_v3_t ncclTunerPlugin_v3 = {"test v3", init, get, end};
#elif TUNER_VERSION == 4
static ncclResult_t init(size_t, size_t, ncclTunerLogger_t log, void** context) {
  return start(log, context);
}
static ncclResult_t get(void* context, int, size_t, int, float** costs, int algorithms,
                        int protocols, int, int* channels) {
  return edit(context, costs, algorithms, protocols, channels);
}
extern const ncclTuner_v4_t ncclTunerPlugin_v4 = {"test v4", init, get, end};
#else
static ncclResult_t init(void** context, uint64_t, size_t, size_t, ncclTunerLogger_t log,
                         ncclNvlDomainInfo_v5_t* domains, ncclTunerConstants_v5_t* constants) {
  if (domains->nNvlDomains < 1) return ncclInvalidArgument;
  if (wish() == "slow") constants->hwLatencies[0][RIPIENO_TUNER_RING][RIPIENO_TUNER_LL] += 1000.0;
  return start(log, context);
}
static ncclResult_t get(void* context, int, size_t, int, float** costs, int algorithms,
                        int protocols, int, int* channels) {
  return edit(context, costs, algorithms, protocols, channels);
}
extern const ncclTuner_v5_t ncclTunerPlugin_v5 = {"test v5", init, get, end};
#endif

/// For the test: how many communicators the plugin believes in.
int ripieno_test_open_contexts() {
  return open_contexts;
}

}  // extern "C"
