// Rows of the groups that act everywhere: log, bootstrap, communicator.
#pragma once

#include <array>

#include "base/parameter_row.h"

namespace ripieno::rows {

inline constexpr std::array kLog = {
    choice("NCCL_DEBUG", "NONE", "NONE|VERSION|WARN|INFO|ABORT|TRACE",
           "How much is logged: nothing, the version line, warnings, what the library decides, or "
           "every step.")
        .used(),
    text(
        "NCCL_DEBUG_SUBSYS", "INIT,BOOTSTRAP,ENV",
        "Parts that INFO and TRACE lines come from, a comma list of INIT, COLL, P2P, SHM, NET, "
        "GRAPH, "
        "TUNING, ENV, ALLOC, CALL, PROXY, NVLS, BOOTSTRAP, REG, PROFILE, RAS, DESTROY, ALLOC_HOST, "
        "ALL. A leading ^ means all but these.")
        .used(),
    text("NCCL_DEBUG_FILE",
         "Where log lines go instead of standard output; %h becomes the host name, %p the process "
         "id. "
         "Lines are appended.")
        .used(),
    text("NCCL_DEBUG_TIMESTAMP_FORMAT", "[%F %T] ",
         "How a time stamp looks: strftime's letters, and %1f to %9f for that many digits of the "
         "second's fraction.")
        .used(),
    text(
        "NCCL_DEBUG_TIMESTAMP_LEVELS", "WARN",
        "Levels whose lines carry a time stamp: a comma list of VERSION, WARN, INFO, ABORT, TRACE, "
        "ALL; a leading ^ means all but these.")
        .used(),
    boolean("NCCL_WARN_ENABLE_DEBUG_INFO", "0",
            "Whether the first warning raises the log level to INFO from there on.")
        .used(),
    boolean("NCCL_SET_THREAD_NAME", "0",
            "Whether threads of the library are named; here they always are."),
    text("NCCL_CONF_FILE",
         "A configuration file to read instead of ~/.nccl.conf: KEY=VALUE lines, # starts a "
         "comment. "
         "The environment wins over it, and it wins over /etc/nccl.conf.")
        .used(),
    text("NCCL_NO_CACHE", "Parameters to be read again at every use.").from("NCCL 2.30"),
    boolean("NCCL_PARAM_DUMP_ALL", "0", "Whether a dump of parameters shows private ones too.")
        .from("NCCL 2.30"),
};

inline constexpr std::array kBootstrap = {
    text("NCCL_SOCKET_IFNAME",
         "Network interfaces to use, a comma list of name prefixes (`eth,eno1`). A leading = asks "
         "for "
         "exact names, a leading ^ for all but these (`^=` for both). `name/address` picks one "
         "address of an "
         "interface that carries several. Unset: ib*, then others, then docker*, then lo.")
        .used(),
    choice("NCCL_SOCKET_FAMILY", "", "AF_INET|AF_INET6",
           "Address family to use where an interface has both. Unset: IPv4 first.")
        .used(),
    text("NCCL_COMM_ID",
         "`host:port` or `[v6]:port` where rank 0 waits, known to all ranks beforehand: unique ids "
         "then need not be passed around. The rendezvous secret is derived from this text, so it "
         "protects only as well as the text is kept.")
        .used(),
    text("NCCL_HOSTID",
         "Identity of this host instead of host name and boot id; processes with different values "
         "treat each other as being on different hosts.")
        .used(),
    seconds("RIPIENO_INIT_TIMEOUT", "600",
            "How long ranks wait for each other while a communicator is made.")
        .range(1, 365 * 24 * 3600)
        .from("0.1")
        .used(),
    text("RIPIENO_PORT_RANGE",
         "`first-last`: ports that listeners of the library may take. Unset: the system chooses.")
        .from("0.1")
        .used(),
    integer("NCCL_SOCKET_RETRY_CNT", "34", "How often a refused connection is tried again."),
    integer("NCCL_SOCKET_RETRY_SLEEP_MSEC", "100", "Pause between such tries.").in("ms"),
    integer("NCCL_SOCKET_POLL_TIMEOUT_MSEC", "0", "How long a socket wait may block at a time.")
        .in("ms")
        .from("NCCL 2.30"),
    text("NCCL_SOCKET_MAGIC", "Handshake value of sockets; here every connection is authenticated.")
        .from("NCCL 2.30"),
    integer("NCCL_UID_STAGGER_RATE", "7000", "Ranks a second that may arrive at a root.").in("1/s"),
    integer("NCCL_UID_STAGGER_THRESHOLD", "256", "Ranks from which arrivals are staggered."),
    boolean("NCCL_OOB_NET_ENABLE", "0", "Whether the bootstrap runs over the network plugin."),
    text("NCCL_OOB_NET_IFNAME", "Network devices for that."),
    boolean("NCCL_IPC_USE_ABSTRACT_SOCKET", "1",
            "Whether Unix sockets are abstract; here they always are.")
        .from("NCCL 2.30"),
    boolean("NCCL_REPORT_CONNECT_PROGRESS", "0", "Whether slow connection phases are logged."),
};

inline constexpr std::array kCommunicator = {
    boolean("NCCL_COMM_BLOCKING", "",
            "Whether calls on communicators wait (1) or return ncclInProgress (0); wins over "
            "ncclConfig_t.")
        .used(),
    integer("NCCL_MIN_CTAS", "", "Fewest channels of a communicator; wins over ncclConfig_t.")
        .range(1, 64)
        .used(),
    integer("NCCL_MAX_CTAS", "", "Most channels of a communicator; wins over ncclConfig_t.")
        .range(1, 64)
        .used(),
    integer("NCCL_MIN_NCHANNELS", "", "Older name of NCCL_MIN_CTAS.").range(1, 64).used(),
    integer("NCCL_MAX_NCHANNELS", "", "Older name of NCCL_MAX_CTAS.").range(1, 64).used(),
    integer("NCCL_MIN_NRINGS", "", "Oldest name of NCCL_MIN_CTAS.").range(1, 64).used(),
    integer("NCCL_MAX_NRINGS", "", "Oldest name of NCCL_MAX_CTAS.").range(1, 64).used(),
    integer("NCCL_CGA_CLUSTER_SIZE", "", "Blocks in a cluster of a kernel; wins over ncclConfig_t.")
        .range(0, 8),
    boolean("NCCL_COMM_SPLIT_SHARE_RESOURCES", "",
            "Whether a split communicator shares what its parent holds."),
    boolean("NCCL_COMM_SHRINK_SHARE_RESOURCES", "", "The same for shrunk communicators."),
    text("NCCL_CTA_POLICY", "DEFAULT",
         "What channels are optimised for: DEFAULT, EFFICIENCY, ZERO, joined by |."),
    integer("NCCL_NCHANNELS_PER_NET_PEER", "", "Channels to a peer across the network.")
        .range(1, 64),
    boolean("NCCL_NVLINK_UTIL_CENTRIC_SCHED_ENABLE", "",
            "Whether channels are placed to fill NVLink evenly."),
    boolean("NCCL_MULTI_RANK_GPU_ENABLE", "0",
            "Whether several ranks may share a device; here they always may.")
        .from("NCCL 2.30"),
    boolean("NCCL_RUNTIME_CONNECT", "1", "Whether connections are made on first use."),
    boolean("NCCL_SET_STACK_SIZE", "0", "Whether the device's stack size is set at init."),
    boolean("NCCL_SET_CPU_STACK_SIZE", "1", "Whether threads get the system's default stack."),
    boolean("NCCL_IGNORE_CPU_AFFINITY", "0",
            "Whether threads follow the device's CPUs even where the job's mask says otherwise."),
    text("NCCL_PROXY_CPUSET", "CPUs that the network engine's thread may run on."),
    integer("NCCL_CONNECT_ROUND_MAX_PEERS", "128", "Peers connected at a time."),
    choice("NCCL_LAUNCH_MODE", "PARALLEL", "PARALLEL|GROUP",
           "How ranks of one process launch their kernels."),
    boolean("NCCL_LAUNCH_ORDER_IMPLICIT", "0",
            "Whether communicators of a device run in the order of their calls."),
    boolean("NCCL_LAUNCH_RACE_FATAL", "1", "Whether launches that race are an error."),
    text("NCCL_GROUP_CUDA_STREAM", "Legacy of NCCL 2.19."),
    text("NCCL_GRAPH_HELPER_DISABLE", "Legacy of NCCL 2.19."),
    text("NCCL_AGG_CHANNEL_SIZE", "Legacy of NCCL 2.19."),
    integer("NCCL_MEM_SYNC_DOMAIN", "1", "Memory synchronisation domain of kernels."),
    integer("NCCL_L1_SHARED_MEMORY_CARVEOUT", "0", "Share of L1 used as shared memory.").in("%"),
    boolean("NCCL_DISABLE_MEM_MANAGER", "0", "Whether idle memory cannot be suspended.")
        .from("NCCL 2.30"),
    size("NCCL_SHADOW_MEMPOOL_MAX_SIZE", "1G", "Largest pool of shadow memory.").from("NCCL 2.30"),
    boolean("NCCL_ENABLE_VERSION_CHECK", "1", "Whether the device API checks versions.")
        .from("NCCL 2.30"),
    boolean("NCCL_IGNORE_NET_MISMATCH", "1", "Whether differing network devices are tolerated.")
        .from("NCCL 2.30"),
    boolean("NCCL_IGNORE_COLLNET_MISMATCH", "0",
            "Whether differing in-network reduction is tolerated.")
        .from("NCCL 2.30"),
    boolean("NCCL_CHECK_POINTERS", "0", "Whether every buffer is checked to be device memory."),
    choice("NCCL_CHECK_MODE", "DEFAULT", "DEFAULT|DEBUG_LOCAL|DEBUG_GLOBAL",
           "Other than DEFAULT: buffers that overlap other than in place are refused.")
        .from("NCCL 2.30")
        .used(),
};

}  // namespace ripieno::rows
