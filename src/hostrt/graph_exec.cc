// Launching and updating; see graph_exec.h.
#include "hostrt/graph_exec.h"

#include <algorithm>
#include <utility>

#include "hostrt/capture.h"
#include "hostrt/operations.h"
#include "hostrt/runtime.h"
#include "hostrt/submit.h"

namespace ripieno::hostrt {

/// One launch being appended to its streams.
class GraphExec::Launch {
 public:
  Launch(const GraphPlan& plan, Stream& stream, const std::vector<Stream*>& lanes,
         InlineDriver& driver)
      : plan_(plan), stream_(stream), lanes_(lanes), driver_(driver) {}

  void append_linear() {
    for (const GraphPlan::Step& step : plan_.steps) driver_.add(stream_, step.task->clone());
  }

  void append_lanes() {
    const Position entry = stream_.submitted();
    std::vector<Position> positions;
    std::vector<Position> tails(plan_.lane_count, 0);
    for (const GraphPlan::Step& step : plan_.steps) {
      Stream& own = lane(step.lane);
      if (tails[step.lane] == 0 && step.lane != 0) wait(own, stream_, entry);
      for (const std::size_t other : step.after)
        wait(own, lane(plan_.steps[other].lane), positions[other]);
      tails[step.lane] = driver_.add(own, step.task->clone());
      positions.push_back(tails[step.lane]);
    }
    for (std::size_t index = 1; index < plan_.lane_count; ++index)
      wait(stream_, lane(index), tails[index]);
  }

 private:
  Stream& lane(std::size_t index) { return index == 0 ? stream_ : *lanes_[index - 1]; }
  void wait(Stream& who, Stream& whom, Position position) {
    if (!whom.reached(position)) driver_.add(who, std::make_unique<WaitTask>(whom, position));
  }

  const GraphPlan& plan_;
  Stream& stream_;
  const std::vector<Stream*>& lanes_;
  InlineDriver& driver_;
};

GraphExec::GraphExec(const Graph& graph, unsigned long long flags)
    : flags_(flags), plan_(plan_graph(graph)) {}

GraphExec::~GraphExec() {
  for (Stream* lane : lanes_) {
    Stream::Pool::retire(lane);
    lane->close();
  }
}

void GraphExec::launch(Stream& stream) {
  InlineDriver driver;
  {
    const std::lock_guard guard(mutex_);
    if (is_captured(stream)) {
      capture_child(stream, *plan_->graph);
      return;
    }
    if (!std::ranges::all_of(plan_->steps,
                             [](const GraphPlan::Step& step) { return step.task->is_live(); })) {
      throw RuntimeError(cudaErrorInvalidResourceHandle,
                         "the graph holds an operation of a communicator that has ended or failed");
    }
    order_default_streams(stream);
    // Launches of one graph never overlap.
    if (last_stream_ && last_stream_.get() != &stream && !last_stream_->reached(last_position_)) {
      driver.add(stream, std::make_unique<WaitTask>(*last_stream_, last_position_));
    }
    while (lanes_.size() + 1 < plan_->lane_count) {
      lanes_.push_back(
          Stream::Pool::create(stream.device(), StreamKind::kNonBlocking, stream.priority()));
    }
    Launch launch(*plan_, stream, lanes_, driver);
    if (plan_->lane_count == 1) {
      launch.append_linear();
    } else {
      launch.append_lanes();
    }
    if (!plan_->graph->user_objects.empty()) driver.add(stream, make_keep_alive_task(plan_));
    if (last_stream_.get() != &stream) last_stream_ = StreamRef(stream);
    last_position_ = stream.submitted();
  }
  driver.drive();
}

bool GraphExec::update(const Graph& graph) {
  std::shared_ptr<const GraphPlan> plan = plan_graph(graph);
  const std::lock_guard guard(mutex_);
  if (plan->types != plan_->types || plan->edges != plan_->edges) return false;
  plan_.swap(plan);
  return true;
}

GraphExec& resolve_exec(cudaGraphExec_t handle) {
  GraphExec* exec = GraphExec::Pool::find(handle);
  if (exec == nullptr)
    throw RuntimeError(cudaErrorInvalidValue, "the executable graph does not exist");
  return *exec;
}

}  // namespace ripieno::hostrt
