// Rows of the groups between hosts, and of what plugs in: networks, InfiniBand, windows, plugins.
#pragma once

#include <array>

#include "base/parameter_row.h"

namespace ripieno::rows {

inline constexpr std::array kNetwork = {
    text("NCCL_NET", "Name of the network to use, in any case."),
    text("NCCL_NET_GDR_LEVEL", "How near a network card must be to access device memory.").used(),
    boolean("NCCL_NET_GDR_READ", "", "Whether it also reads from there."),
    boolean("NCCL_NET_GDR_C2C", "1", "Whether it does so over chip-to-chip links.").used(),
    boolean("NCCL_NET_FORCE_FLUSH", "0", "Whether received data is flushed in any case."),
    boolean("NCCL_GDR_FLUSH_DISABLE", "0", "Whether it is never flushed."),
    boolean("NCCL_DMABUF_ENABLE", "1", "Whether memory is registered by DMA-BUF."),
    boolean("NCCL_NET_SHARED_BUFFERS", "", "Whether connections share staging buffers."),
    boolean("NCCL_NET_SHARED_COMMS", "1", "Whether channels share connections."),
    boolean("NCCL_NET_OPTIONAL_RECV_COMPLETION", "1", "Whether receives may end unannounced."),
    boolean("NCCL_PXN_DISABLE", "0", "Whether data does not pass through a GPU nearer the card.")
        .used(),
    boolean("NCCL_PXN_C2C", "1", "Whether it may over chip-to-chip links.").used(),
    integer("NCCL_P2P_PXN_LEVEL", "2", "When sends do: 0 never, 1 where it helps, 2 always."),
    boolean("NCCL_GDRCOPY_ENABLE", "0", "Whether GDRCopy is used."),
    boolean("NCCL_GDRCOPY_FIFO_ENABLE", "1", "Whether it holds the queue of work."),
    boolean("NCCL_GDRCOPY_SYNC_ENABLE", "1", "Whether it holds the counters."),
    boolean("NCCL_GDRCOPY_FLUSH_ENABLE", "0", "Whether it flushes."),
    boolean("NCCL_COLLNET_ENABLE", "", "Whether reduction in the network is used."),
    integer("NCCL_COLLNET_NODE_THRESHOLD", "2", "Hosts from which it is."),
    integer("NCCL_SOCKET_NTHREADS", "", "Helper threads of a socket connection.").range(0, 16),
    integer("NCCL_NSOCKS_PERTHREAD", "", "Sockets of each.").range(1, 64),
    size("NCCL_SOCKET_INLINE", "128", "Bytes that travel with a message's header."),
    size("NCCL_SOCKET_MIN_TASKSIZE", "65536", "Least bytes given to a helper."),
    integer("NCCL_SOCKET_RCVBUF", "-1", "Receive buffer of sockets.").in("bytes"),
    integer("NCCL_SOCKET_SNDBUF", "-1", "Send buffer of sockets.").in("bytes"),
};

inline constexpr std::array kInfiniBand = {
    boolean("NCCL_IB_DISABLE", "0", "Whether InfiniBand and RoCE are not used."),
    text("NCCL_IB_HCA", "Cards to use: a list of device:port; ^ excludes, = asks for exact names."),
    integer("NCCL_IB_TIMEOUT", "20", "Timeout exponent of a connection.").range(0, 31),
    integer("NCCL_IB_RETRY_CNT", "7", "How often a packet is sent again.").range(0, 7),
    integer("NCCL_IB_GID_INDEX", "-1", "Index of the address to use."),
    integer("NCCL_IB_SL", "", "Service level."),
    integer("NCCL_IB_TC", "", "Traffic class."),
    integer("NCCL_IB_FIFO_TC", "", "Traffic class of control messages."),
    integer("NCCL_IB_PKEY", "0", "Index of the partition key."),
    integer("NCCL_IB_ROCE_VERSION_NUM", "2", "RoCE version of the address."),
    text("NCCL_IB_ADDR_FAMILY", "AF_INET", "Family of the address."),
    text("NCCL_IB_ADDR_RANGE", "Range that the address must be in."),
    integer("NCCL_IB_QPS_PER_CONNECTION", "1", "Queue pairs of a connection.").range(1, 128),
    boolean("NCCL_IB_SPLIT_DATA_ON_QPS", "0", "Whether a message is split over them."),
    integer("NCCL_IB_PCI_RELAXED_ORDERING", "2", "Relaxed ordering: 0 no, 1 yes, 2 where found."),
    boolean("NCCL_IB_ADAPTIVE_ROUTING", "", "Whether routes may change between packets."),
    size("NCCL_IB_AR_THRESHOLD", "", "From this size messages take such routes."),
    boolean("NCCL_IB_USE_INLINE", "0", "Whether control messages are inlined."),
    boolean("NCCL_IB_ECE_ENABLE", "1", "Whether enhanced connection setup is used."),
    boolean("NCCL_IB_RETURN_ASYNC_EVENTS", "1", "Whether events of a card end its communicators."),
    boolean("NCCL_IB_MERGE_VFS", "1", "Whether virtual functions of a card are merged."),
    boolean("NCCL_IB_MERGE_NICS", "1", "Whether ports of a card are merged."),
    boolean("NCCL_IB_DATA_DIRECT", "1", "Whether the direct data path is used."),
    integer("NCCL_IB_ROUTABLE_FLID_GID_INDEX", "1", "Index of the routable address."),
    boolean("NCCL_IB_WARN_RAIL_LOCAL", "0", "Whether traffic that leaves its rail is reported."),
    boolean("NCCL_IB_MQP_RETRY_ALL", "0", "Whether every change of a queue pair is retried."),
    integer("NCCL_IB_MQP_RETRY_CNT", "34", "How often."),
    integer("NCCL_IB_MQP_RETRY_SLEEP_MSEC", "100", "With which pause.").in("ms"),
    text("NCCL_IBVERBS_LIB", "Library of verbs to load.").from("NCCL 2.30"),
    boolean("NCCL_IB_OOO_RQ", "0", "Whether receives may complete out of order.").from("NCCL 2.30"),
    boolean("NCCL_IB_QUERY_PORT_SPEED", "1", "Whether a port is asked for its speed.")
        .from("NCCL 2.30"),
    boolean("NCCL_IB_DEVICE_PCI_ORDER", "1", "Whether cards are numbered by their slots.")
        .from("NCCL 2.30"),
    boolean("NCCL_IB_PREPOST_RECEIVE_WORK_REQUESTS", "", "Whether receives are posted early.")
        .from("NCCL 2.30"),
    boolean("NCCL_IB_RECEIVER_SIDE_MATCHING_SCHEME", "", "How receives are matched.")
        .from("NCCL 2.30"),
    boolean("NCCL_IB_SUBNET_AWARE_ROUTING", "0", "Whether peers of the same subnet are preferred.")
        .from("NCCL 2.30"),
    integer("NCCL_IB_SUBNET_PREFIX_LEN", "24", "Length of the subnet's prefix.").from("NCCL 2.30"),
    boolean("NCCL_IB_RESILIENCY_PORT_FAILOVER", "0", "Whether another port takes over.")
        .from("NCCL 2.30"),
    integer("NCCL_IB_RESILIENCY_PORT_FAILOVER_MAX_ATTEMPTS", "1", "How often.").from("NCCL 2.30"),
    integer("NCCL_IB_RESILIENCY_PORT_FAILOVER_PROBE_DELAY", "10", "After which delay.")
        .in("ms")
        .from("NCCL 2.30"),
    boolean("NCCL_IB_RESILIENCY_PORT_RECOVERY", "0", "Whether a port that returns is used again.")
        .from("NCCL 2.30"),
};

inline constexpr std::array kWindow = {
    boolean("NCCL_WIN_ENABLE", "1", "Whether windows are supported."),
    integer("NCCL_WIN_STRIDE", "-1", "Distance of the ranks' parts of a window."),
    integer("NCCL_LSA_TEAM_SIZE", "0", "Ranks that access each other's windows.").from("NCCL 2.30"),
    text("NCCL_SYM_KERNEL", "Exact name of the kernel for windows."),
    integer("NCCL_SYM_CTAS", "0", "Blocks of such a kernel."),
    boolean("NCCL_SYM_NOWIN_ENABLE", "0", "Whether such kernels work without windows.")
        .from("NCCL 2.30"),
    size("NCCL_SYM_CE_THRESHOLD", "8M", "From this size copy engines are used.").from("NCCL 2.30"),
    boolean("NCCL_SYM_GIN_KERNELS_ENABLE", "1", "Whether kernels drive the network.")
        .from("NCCL 2.30"),
    size("NCCL_SYM_RS_GIN_CHUNK_SIZE", "128K", "Their chunk.").from("NCCL 2.30"),
    boolean("NCCL_SYM_TMA_ENABLE", "0", "Whether they use the tensor memory engine.")
        .from("NCCL 2.30"),
    boolean("NCCL_SYM_REUSE_SYSMEM_HANDLES", "0", "Whether handles are used again.")
        .from("NCCL 2.30"),
    boolean("NCCL_DEV_API_JIT", "0", "Whether the device API is compiled at run time.")
        .from("NCCL 2.30"),
    boolean("NCCL_GIN_ENABLE", "1", "Whether kernels may drive the network."),
    integer("NCCL_GIN_TYPE", "-1", "How they do."),
    integer("NCCL_GIN_NCONNECTIONS", "", "Connections for it.").from("NCCL 2.30"),
    integer("NCCL_GIN_PROXY_QUEUE_SIZE", "-1", "Its queue."),
    integer("NCCL_GIN_IB_TC", "-1", "Its traffic class.").from("NCCL 2.30"),
    integer("NCCL_GIN_ERROR_QUERY_SEC", "10", "How often it is asked for errors.").in("seconds"),
    integer("NCCL_GIN_GDAKI_NIC_HANDLER", "0", "Who rings the card."),
    integer("NCCL_GIN_GDAKI_QP_DEPTH", "128", "Depth of its queue pairs."),
    integer("NCCL_GDAKI_USE_RELIABLE_DB", "0", "Which doorbell it rings.").from("NCCL 2.30"),
    integer("NCCL_GIN_NCONTEXTS", "", "Contexts of it."),
    integer("NCCL_GIN_SIGNAL_POOL_SIZE", "", "Signals of it."),
    integer("NCCL_GIN_COUNTER_POOL_SIZE", "", "Counters of it."),
    integer("NCCL_NUM_RMA_CTX", "", "Contexts of one-sided operations.").from("NCCL 2.30"),
    boolean("NCCL_RMA_DISABLE", "0", "Whether there are none.").from("NCCL 2.30"),
    integer("NCCL_RMA_PROXY_QUEUE_SIZE", "", "Their queue.").from("NCCL 2.30"),
};

inline constexpr std::array kPlugin = {
    text("NCCL_NET_PLUGIN", "Network plugins to load, a comma list; none: no plugin."),
    boolean("NCCL_NET_PLUGIN_REF_COUNT", "0", "Whether they are unloaded with their last user."),
    text("NCCL_TUNER_PLUGIN", "Tuner plugin to load.").used(),
    text("NCCL_PROFILER_PLUGIN", "Profiler plugin to load."),
    text("NCCL_ENV_PLUGIN", "Plugin that supplies parameters."),
    text("NCCL_GIN_PLUGIN", "Plugin for networks driven by kernels.").from("NCCL 2.30"),
    boolean("NCCL_GIN_PLUGIN_REF_COUNT", "0", "Whether it is unloaded with its last user.")
        .from("NCCL 2.30"),
    text("NCCL_RMA_PLUGIN", "Plugin for one-sided operations.").from("NCCL 2.30"),
    boolean("NCCL_RMA_PLUGIN_REF_COUNT", "0", "Whether it is unloaded with its last user.")
        .from("NCCL 2.30"),
};

}  // namespace ripieno::rows
