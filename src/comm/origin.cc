// The four origins.
#include "comm/origin.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/parameters.h"
#include "comm/communicator.h"
#include "comm/derivation.h"

namespace ripieno::comm {
namespace {

constexpr SecondsParameter kInitTimeout{"RIPIENO_INIT_TIMEOUT"};

class Ids final : public Origin {
 public:
  Ids(std::vector<ncclUniqueId> ids, bootstrap::Membership membership)
      : ids_(std::move(ids)), membership_(membership) {}

  std::unique_ptr<bootstrap::Gathering> join(const Cancellation& cancellation) override {
    return bootstrap::join(ids_, membership_, kInitTimeout.value(), cancellation);
  }

 private:
  std::vector<ncclUniqueId> ids_;
  bootstrap::Membership membership_;
};

class Split final : public Origin {
 public:
  Split(std::shared_ptr<Communicator> parent, int color, int key)
      : derivation_(std::move(parent), Call::kDerive, "ncclCommSplit"), wish_{color, key} {}

  std::unique_ptr<bootstrap::Gathering> join(const Cancellation& cancellation) override {
    const std::vector<Wish> wishes = derivation_.meet_all(cancellation)->gather_records(wish_);
    if (wish_.color == NCCL_SPLIT_NOCOLOR) {
      return nullptr;
    }
    std::vector<int> members;
    for (int rank = 0; rank < static_cast<int>(wishes.size()); ++rank) {
      if (wishes[static_cast<std::size_t>(rank)].color == wish_.color) {
        members.push_back(rank);
      }
    }
    std::ranges::stable_sort(members, {},
                             [&](int rank) { return wishes[static_cast<std::size_t>(rank)].key; });
    return derivation_.meet(std::move(members), cancellation);
  }
  void about_to_finish() noexcept override { derivation_.about_to_finish(); }

 private:
  struct Wish {
    int color;
    int key;
  };
  Derivation derivation_;
  Wish wish_;
};

class Shrink final : public Origin {
 public:
  Shrink(std::shared_ptr<Communicator> parent, const std::vector<int>& excluded)
      : derivation_(std::move(parent), Call::kShrink, "ncclCommShrink") {
    for (int rank = 0; rank < derivation_.parent().ranks(); ++rank) {
      if (std::ranges::find(excluded, rank) == excluded.end()) {
        members_.push_back(rank);
      }
    }
  }

  std::unique_ptr<bootstrap::Gathering> join(const Cancellation& cancellation) override {
    return derivation_.meet(std::move(members_), cancellation);
  }
  void about_to_finish() noexcept override { derivation_.about_to_finish(); }

 private:
  Derivation derivation_;
  std::vector<int> members_;
};

class Growth final : public Origin {
 public:
  Growth(std::shared_ptr<Communicator> parent, int ranks, const ncclUniqueId* id)
      : derivation_(std::move(parent), Call::kDerive, "ncclCommGrow") {
    part_.ranks = ranks;
    if (id != nullptr) {
      part_.has_id = 1;
      part_.id = *id;
    }
  }

  std::unique_ptr<bootstrap::Gathering> join(const Cancellation& cancellation) override {
    const std::vector<Part> parts = derivation_.meet_all(cancellation)->gather_records(part_);
    const auto other =
        std::ranges::find_if(parts, [this](const Part& part) { return part.ranks != part_.ranks; });
    if (other != parts.end()) {
      throw Error(ncclInvalidArgument, "rank {} wants to grow to {} ranks and rank {} to {}",
                  derivation_.parent().rank(), part_.ranks, other - parts.begin(), other->ranks);
    }
    const auto with_id = std::ranges::find(parts, 1, &Part::has_id);
    if (with_id == parts.end()) {
      throw Error(ncclInvalidArgument,
                  "none of the old ranks passed a unique id; the rank that called "
                  "ncclCommGetUniqueId() must");
    }
    const ncclUniqueId id = with_id->id;
    return bootstrap::join({&id, 1}, {.rank = derivation_.parent().rank(), .ranks = part_.ranks},
                           kInitTimeout.value(), cancellation);
  }
  void about_to_finish() noexcept override { derivation_.about_to_finish(); }

 private:
  struct Part {
    int ranks;
    int has_id;
    ncclUniqueId id;
  };
  Derivation derivation_;
  Part part_{};
};

}  // namespace

std::unique_ptr<Origin> from_ids(std::vector<ncclUniqueId> ids, bootstrap::Membership membership) {
  return std::make_unique<Ids>(std::move(ids), membership);
}

std::unique_ptr<Origin> from_split(std::shared_ptr<Communicator> parent, int color, int key) {
  return std::make_unique<Split>(std::move(parent), color, key);
}

std::unique_ptr<Origin> from_shrink(std::shared_ptr<Communicator> parent,
                                    const std::vector<int>& excluded, bool abort) {
  parent->require(Call::kShrink);
  if (abort) {
    parent->stop_for_good();
  }
  return std::make_unique<Shrink>(std::move(parent), excluded);
}

std::unique_ptr<Origin> from_growth(std::shared_ptr<Communicator> parent, int ranks,
                                    const ncclUniqueId* id) {
  return std::make_unique<Growth>(std::move(parent), ranks, id);
}

}  // namespace ripieno::comm
