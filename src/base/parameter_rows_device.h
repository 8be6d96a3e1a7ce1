// Rows of the groups inside a host: devices, diagnosis, tuning, topology, links between devices.
#pragma once

#include <array>

#include "base/parameter_row.h"

namespace ripieno::rows {

inline constexpr std::array kDevice = {
    choice(
        "RIPIENO_DEVICE", "auto", "auto|host|cuda",
        "What ranks run on: NVIDIA GPUs, virtual devices of the host, or GPUs where there are any.")
        .from("0.1")
        .used(),
    choice(
        "RIPIENO_SHARED_GPU", "auto", "auto|fused|mps|timeslice",
        "How processes that share a GPU work together: their kernels run at the same time (mps), "
        "or they take turns and one rank computes for all (timeslice); fused is what ranks of one "
        "process do.")
        .from("0.1")
        .used(),
    integer("RIPIENO_HOST_DEVICES", "8", "Number of virtual devices of the host backend.")
        .range(1, 1024)
        .from("0.1")
        .used(),
    size("RIPIENO_ONE_SHOT_BYTES", "2K",
         "Up to this size an operation is done in one step, every rank reading all contributions.")
        .range(0, 64 << 10)
        .from("0.1")
        .used(),
    size("RIPIENO_INLINE_BYTES", "256K",
         "Up to this size an operation on an idle stream may run on the calling thread.")
        .from("0.1")
        .used(),
    size("RIPIENO_STREAMING_BYTES", "4M", "From this size results are stored past the caches.")
        .from("0.1")
        .used(),
};

inline constexpr std::array kDiagnosis = {
    seconds(
        "RIPIENO_STALL_SECONDS", "30",
        "After this long without progress an operation is reported with the ranks it waits for; "
        "0: never.")
        .from("0.1")
        .used(),
    boolean("NCCL_RAS_ENABLE", "1", "Whether the reliability service runs."),
    text("NCCL_RAS_ADDR", "localhost:28028", "Where it answers clients."),
    integer("NCCL_RAS_TIMEOUT_FACTOR", "1", "Factor on all its timeouts."),
    boolean("NCCL_NVTX_DISABLE", "0", "Whether no ranges are marked for profilers."),
    integer("NCCL_PROXY_DUMP_SIGNAL", "-1", "Signal that makes the network engine dump its state."),
    integer("NCCL_RMA_PROXY_DUMP_SIGNAL", "-1", "The same for one-sided operations.")
        .from("NCCL 2.30"),
    boolean("NCCL_INSPECTOR_ENABLE", "0", "Whether the inspector plugin records operations."),
    boolean("NCCL_INSPECTOR_ENABLE_P2P", "1", "Whether it records sends and receives."),
    boolean("NCCL_INSPECTOR_DUMP_THREAD_ENABLE", "1", "Whether it writes from its own thread."),
    integer("NCCL_INSPECTOR_DUMP_THREAD_INTERVAL_MICROSECONDS", "-1", "How often it writes.")
        .in("us"),
    text("NCCL_INSPECTOR_DUMP_DIR", "Where it writes."),
    boolean("NCCL_INSPECTOR_DUMP_VERBOSE", "0", "Whether it writes details."),
    boolean("NCCL_INSPECTOR_PROM_DUMP", "0", "Whether it writes for Prometheus."),
    size("NCCL_INSPECTOR_DUMP_MIN_SIZE_BYTES", "8192", "Smallest operation it writes."),
    integer("NCCL_INSPECTOR_DUMP_COLL_RING_SIZE", "1024", "Collectives it keeps."),
    integer("NCCL_INSPECTOR_DUMP_P2P_RING_SIZE", "1024", "Sends and receives it keeps."),
    integer("NCCL_INSPECTOR_COLL_POOL_SIZE", "256", "Its pool for collectives."),
    integer("NCCL_INSPECTOR_P2P_POOL_SIZE", "256", "Its pool for sends and receives."),
    integer("NCCL_INSPECTOR_COMM_POOL_SIZE", "256", "Its pool for communicators."),
    text("NCCL_INSPECTOR_POOL_GROW", "Whether its pools grow."),
    text("NCCL_INSPECTOR_REQUIRE_KERNEL_TIMING", "1", "Whether it needs timings of kernels."),
};

inline constexpr std::array kTuning = {
    text("RIPIENO_TUNING_FILE",
         "Table of times measured by `ripieno tune`, which then decides instead of predictions.")
        .from("0.1")
        .used(),
    text("NCCL_ALGO",
         "Algorithms to choose from: `list;function:list`, a leading ^ means all but these.")
        .used(),
    text("NCCL_PROTO", "Protocols to choose from, in the same form.").used(),
    integer("NCCL_NTHREADS", "", "Threads of a kernel's block.").range(64, 1024).used(),
    integer("NCCL_LL128_NTHREADS", "", "The same for the LL128 protocol.").range(64, 1024).used(),
    size("NCCL_BUFFSIZE", "4M", "Buffer of a channel for the Simple protocol.")
        .range(4096, std::int64_t{1} << 30),
    size("NCCL_LL_BUFFSIZE", "", "The same for LL.").range(4096, std::int64_t{1} << 30),
    size("NCCL_LL128_BUFFSIZE", "", "The same for LL128.").range(4096, std::int64_t{1} << 30),
    text("NCCL_THREAD_THRESHOLDS", "Six numbers: bytes a thread from which a channel is added.")
        .used(),
    integer("NCCL_PAT_ENABLE", "2", "Whether the PAT algorithm may be used; 2: choose.").used(),
    integer("NCCL_NET_OVERHEAD", "", "Assumed cost of a network step.").in("ns").used(),
    boolean("NCCL_LL128_C2C", "1", "Whether LL128 may cross chip-to-chip links.").used(),
    size("NCCL_CHUNK_SIZE", "0", "Chunk of sends and receives; 0: choose."),
    size("NCCL_WORK_FIFO_BYTES", "1M", "Size of the queue of work for kernels."),
    integer("NCCL_WORK_FIFO_DEPTH", "", "The same in entries, legacy of NCCL 2.19."),
    size("NCCL_WORK_ARGS_BYTES", "", "Most work that travels as kernel arguments."),
    boolean("NCCL_ALLGATHERV_ENABLE", "1", "Whether grouped broadcasts are fused.")
        .from("NCCL 2.30"),
    size("NCCL_P2P_LL_THRESHOLD", "16384", "Up to this size sends use the LL protocol."),
    size("NCCL_P2P_NET_CHUNKSIZE", "131072", "Chunk of sends across the network."),
    size("NCCL_P2P_PCI_CHUNKSIZE", "131072", "Chunk of sends over PCIe."),
    size("NCCL_P2P_NVL_CHUNKSIZE", "524288", "Chunk of sends over NVLink."),
    integer("NCCL_MIN_P2P_NCHANNELS", "1", "Fewest channels for sends.").range(1, 64),
    integer("NCCL_MAX_P2P_NCHANNELS", "64", "Most channels for sends.").range(1, 64),
    integer("NCCL_P2P_SCHEDULE_GROUP_SIZE", "8", "Ranks in a group of the send schedule."),
    integer("NCCL_P2P_PER_CHANNEL_NET_BW", "14", "Network bandwidth that one channel fills.")
        .in("GB/s")
        .from("NCCL 2.30"),
    integer("NCCL_P2P_MAX_PEERS", "", "Most peers that a rank sends to.").from("NCCL 2.30"),
    boolean("NCCL_P2P_EPOCH_ENABLE", "1", "Whether sends are ordered by epochs.").from("NCCL 2.30"),
    boolean("NCCL_ALLOC_P2P_NET_LL_BUFFERS", "0",
            "Whether sends across the network get LL buffers."),
    boolean("NCCL_UNPACK_DOUBLE_NCHANNELS", "1", "Whether device unpacking doubles channels."),
    integer("NCCL_PROGRESS_APPENDOP_FREQ", "8", "How often the engine looks for new work."),
    integer("NCCL_PROXY_APPEND_BATCH_SIZE", "16", "How much of it the engine takes at a time."),
    // Thresholds of the time before the cost model; documented by NCCL, ignored by it and by us.
    text("NCCL_CHECKS_DISABLE", "Legacy, ignored."),
    text("NCCL_IB_CUDA_SUPPORT", "Legacy, ignored."),
    text("NCCL_SINGLE_RING_THRESHOLD", "Legacy, ignored."),
    text("NCCL_LL_THRESHOLD", "Legacy, ignored."),
    text("NCCL_TREE_THRESHOLD", "Legacy, ignored."),
};

inline constexpr std::array kTopology = {
    text("NCCL_TOPO_FILE", "XML file with the machine's topology, read before detection.").used(),
    text("NCCL_TOPO_DUMP_FILE", "Where the topology found is written.").used(),
    integer("NCCL_TOPO_DUMP_FILE_RANK", "0", "Rank that writes it.").used(),
    text("NCCL_GRAPH_FILE", "XML file with the channels' graphs, instead of searching.").used(),
    text("NCCL_GRAPH_DUMP_FILE", "Where the graphs found are written.").used(),
    integer("NCCL_GRAPH_DUMP_FILE_RANK", "0", "Rank that writes them.").used(),
    integer("NCCL_CROSS_NIC", "2",
            "Whether a ring may change network cards: 0 no, 1 yes, 2 rather not.")
        .range(0, 2)
        .used(),
    boolean("NCCL_NET_DISABLE_INTRA", "0", "Whether the network is not used inside a host.").used(),
    text("NCCL_NETDEVS_POLICY", "AUTO", "Network devices a rank uses: AUTO, ALL or MAX:n."),
    text("NCCL_NET_MERGE_LEVEL", "PORT", "How near network ports must be to be used as one."),
    text("NCCL_NET_FORCE_MERGE", "Network ports to use as one in any case."),
    text("NCCL_NET_MERGE_POLICY", "ALL", "Which ports are merged.").from("NCCL 2.30"),
    boolean("NCCL_TOPO_SPLIT_MLOPART", "1", "Whether GPU partitions appear as devices.")
        .from("NCCL 2.30"),
    boolean("NCCL_MLOPART_RDMA_ENABLE", "0", "Whether partitions use RDMA.").from("NCCL 2.30"),
    boolean("NCCL_NET_GDR_MLOPART", "0", "Whether partitions are read by network cards.")
        .from("NCCL 2.30"),
    integer("NCCL_MNNVL_ENABLE", "2", "NVLink between hosts: 0 no, 1 yes, 2 where found."),
    integer("NCCL_MNNVL_UUID", "-1", "Identity of that NVLink domain."),
    integer("NCCL_MNNVL_CLIQUE_ID", "-1", "Identity of the clique inside it."),
    boolean("NCCL_MNNVL_CROSS_CLIQUE", "0", "Whether cliques are joined.").from("NCCL 2.30"),
    boolean("NCCL_MNNVL_SCATTER_NETS_ENABLE", "1", "Whether network cards are spread over it."),
    boolean("NCCL_MNNVL_RAIL_PER_HOST", "0", "Whether each host is a rail of its own."),
};

inline constexpr std::array kIntraNode = {
    boolean("NCCL_P2P_DISABLE", "0", "Whether devices do not access each other's memory.").used(),
    text("NCCL_P2P_LEVEL", "PXB", "How near they must be for it: LOC, NVL, PIX, PXB, PHB, SYS.")
        .used(),
    boolean("NCCL_P2P_DIRECT_DISABLE", "0",
            "Whether even ranks of one process exchange no pointers."),
    boolean("NCCL_P2P_READ_ENABLE", "", "Whether a rank reads from its peer instead of writing."),
    boolean("NCCL_P2P_USE_CUDA_MEMCPY", "0", "Whether copy engines move the data."),
    boolean("NCCL_IGNORE_DISABLED_P2P", "0", "Whether a broken peer access is not reported."),
    boolean("NCCL_NVB_DISABLE", "0", "Whether no third GPU passes data on.").used(),
    boolean("NCCL_NVB_PRECONNECT", "1", "Whether such paths are made at init."),
    boolean("NCCL_SHM_DISABLE", "0", "Whether shared host memory is not used.").used(),
    integer("NCCL_SHM_LOCALITY", "2", "Whose memory it is: 1 the sender's, 2 the receiver's."),
    boolean("NCCL_SHM_USE_CUDA_MEMCPY", "0", "Whether copy engines fill it."),
    integer("NCCL_SHM_MEMCPY_MODE", "1", "Which side uses them."),
    boolean("NCCL_CUMEM_ENABLE", "", "Whether memory comes from the virtual memory interface."),
    boolean("NCCL_CUMEM_HOST_ENABLE", "", "The same for host memory."),
    boolean("NCCL_LEGACY_CUDA_REGISTER", "0", "Whether buffers of the older interface register."),
    integer("NCCL_NVLS_ENABLE", "2", "Reduction in the NVSwitch: 0 no, 1 yes, 2 where found.")
        .used(),
    integer("NCCL_NVLS_NCHANNELS", "", "Channels for it.").range(1, 64).used(),
    size("NCCL_NVLS_CHUNKSIZE", "131072", "Its chunk."),
    size("NCCL_NVLSTREE_MAX_CHUNKSIZE", "", "Largest chunk of trees over it."),
    boolean("NCCL_LOCAL_REGISTER", "1", "Whether registered buffers are used directly.").used(),
    boolean("NCCL_GRAPH_REGISTER", "1", "The same for buffers of captured graphs."),
    boolean("NCCL_GRAPH_MIXING_SUPPORT", "",
            "Whether a communicator is used inside and outside graphs at once."),
    boolean("NCCL_GRAPH_STREAM_ORDERING", "", "Whether graphs are ordered with streams.")
        .from("NCCL 2.30"),
    boolean("NCCL_SINGLE_PROC_MEM_REG_ENABLE", "0",
            "Whether ranks of one process register buffers."),
    boolean("NCCL_MULTI_SEGMENT_REGISTER", "1", "Whether buffers of several pieces register.")
        .from("NCCL 2.30"),
    boolean("NCCL_ELASTIC_BUFFER_REGISTER", "1", "Whether growing buffers register.")
        .from("NCCL 2.30"),
};

}  // namespace ripieno::rows
