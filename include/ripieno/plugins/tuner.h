/* Tuner plugins: shared libraries that change which algorithm, protocol and number of channels an
 * operation runs with. A plugin exports one of ncclTunerPlugin_v2 to ncclTunerPlugin_v5; the newest
 * is taken. Names, order and layout are those of NCCL's interface, so one binary serves both
 * libraries. NCCL_TUNER_PLUGIN names the plugin.
 *
 * Tables of costs are float[numAlgo][numProto], in microseconds, RIPIENO_TUNER_NOT_AVAILABLE where
 * a cell cannot run; what a plugin writes there is ignored. numAlgo is larger than NCCL's seven
 * here: rows 7 (Direct) and 8 (OneShot) follow, so index by numProto and look at numAlgo before
 * going further. */
#ifndef RIPIENO_PLUGINS_TUNER_H_
#define RIPIENO_PLUGINS_TUNER_H_

#include <nccl.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Levels as of NCCL_DEBUG: 1 version, 2 warning, 3 information, 5 trace. `subsystems` is a set of
 * bits, ~0ul: all. */
typedef void (*ncclTunerLogger_t)(int level, unsigned long subsystems, const char* file, int line,
                                  const char* format, ...);

enum {
  RIPIENO_TUNER_BROADCAST = 0,
  RIPIENO_TUNER_REDUCE = 1,
  RIPIENO_TUNER_ALL_GATHER = 2,
  RIPIENO_TUNER_REDUCE_SCATTER = 3,
  RIPIENO_TUNER_ALL_REDUCE = 4
};
enum {
  RIPIENO_TUNER_TREE = 0,
  RIPIENO_TUNER_RING = 1,
  RIPIENO_TUNER_COLLNET_DIRECT = 2,
  RIPIENO_TUNER_COLLNET_CHAIN = 3,
  RIPIENO_TUNER_NVLS = 4,
  RIPIENO_TUNER_NVLS_TREE = 5,
  RIPIENO_TUNER_PAT = 6,
  RIPIENO_TUNER_DIRECT = 7,  /**< Not in NCCL. */
  RIPIENO_TUNER_ONE_SHOT = 8 /**< Not in NCCL. */
};
enum { RIPIENO_TUNER_LL = 0, RIPIENO_TUNER_LL128 = 1, RIPIENO_TUNER_SIMPLE = 2 };
#define RIPIENO_TUNER_NOT_AVAILABLE (-1.0f)

/** Version 2 chooses itself; -1 in *algorithm or *protocol leaves the choice to the library. */
typedef struct {
  const char* name;
  ncclResult_t (*init)(size_t nRanks, size_t nNodes, ncclTunerLogger_t log, void** context);
  ncclResult_t (*getCollInfo)(void* context, int function, size_t bytes, int collNetSupport,
                              int nvlsSupport, int numPipeOps, int* algorithm, int* protocol,
                              int* nChannels);
  ncclResult_t (*destroy)(void* context);
} ncclTuner_v2_t;

/** Version 3 edits the table; *nChannels stays 0 to leave the number of channels to the library. */
typedef struct {
  const char* name;
  ncclResult_t (*init)(size_t nRanks, size_t nNodes, ncclTunerLogger_t log, void** context);
  ncclResult_t (*getCollInfo)(void* context, int function, size_t bytes, int numPipeOps,
                              float** costs, int numAlgo, int numProto, int* nChannels);
  ncclResult_t (*destroy)(void* context);
} ncclTuner_v3_t;

/** Version 4 is told whether the buffers are registered. */
typedef struct {
  const char* name;
  ncclResult_t (*init)(size_t nRanks, size_t nNodes, ncclTunerLogger_t log, void** context);
  ncclResult_t (*getCollInfo)(void* context, int function, size_t bytes, int numPipeOps,
                              float** costs, int numAlgo, int numProto, int regBuff,
                              int* nChannels);
  ncclResult_t (*destroy)(void* context);
} ncclTuner_v4_t;

typedef struct {
  int nNvlDomains;
  int minRanksPerNvlDomain;
  int maxRanksPerNvlDomain;
} ncclNvlDomainInfo_v5_t;

/** Figures of the cost model, which init may change. First index of the bandwidths: Volta, Ampere,
 * Hopper, Blackwell; second: one host, two, more. Of hwLatencies: NVLink, PCI, network. */
typedef struct {
  double baseLatencies[7][3];
  double hwLatencies[3][7][3];
  double llMaxBws[4][3];
  double perChMaxRingLL128Bws[4][3];
  double perChMaxTreeLL128Bws[4][3];
  double perChMaxTreeBws[4][3];
  double perChMaxNVLSTreeBws[4][3];
} ncclTunerConstants_v5_t;

/** Version 5 has the context first, and the figures of the model. */
typedef struct {
  const char* name;
  ncclResult_t (*init)(void** context, uint64_t commId, size_t nRanks, size_t nNodes,
                       ncclTunerLogger_t log, ncclNvlDomainInfo_v5_t* nvlDomains,
                       ncclTunerConstants_v5_t* constants);
  ncclResult_t (*getCollInfo)(void* context, int function, size_t bytes, int numPipeOps,
                              float** costs, int numAlgo, int numProto, int regBuff,
                              int* nChannels);
  ncclResult_t (*finalize)(void* context);
} ncclTuner_v5_t;

#ifdef __cplusplus
}
#endif

#endif
