import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { manualTime } from "@postern/apiserver/runtime/testing/manual-time";
import {
  createSoleLeaderElection,
  type LeaderElection,
  type Leadership,
} from "@postern/apiserver/storage/leader-election";
import { describe, expect, it } from "vitest";
import { runWhileLeading } from "./run-while-leading.ts";

/** An election whose leadership a test can take away. */
function lostOnDemand() {
  const sole = createSoleLeaderElection();
  const won: Leadership[] = [];
  let onWon = (): void => {};
  const election: LeaderElection = {
    async campaign(name, identity, signal) {
      const leadership = await sole.campaign(name, identity, signal);
      won.push(leadership);
      onWon();
      return leadership;
    },
    leader: (name) => sole.leader(name),
  };
  return {
    election,
    lose: () => won.at(-1)?.[Symbol.asyncDispose](),
    /** Resolves after so many elections. */
    times: (count: number) =>
      new Promise<void>((resolve) => {
        onWon = () => won.length >= count && setImmediate(resolve);
        onWon();
      }),
  };
}

describe("work of the leader", () => {
  it("ends when the leadership is lost, and starts again with the next one", async () => {
    const { election, lose, times } = lostOnDemand();
    const log: string[] = [];
    let starts = 0;
    await using _ = runWhileLeading({
      election,
      name: "n",
      identity: "me",
      runtime: systemRuntime,
      start() {
        const name = `${++starts}`;
        return ["a", "b"].map((one) => ({ [Symbol.dispose]: () => void log.push(`${name}${one} over`) }));
      },
    });
    await times(1);
    expect([starts, log]).toEqual([1, []]);
    await lose();
    await times(2);
    expect([starts, log]).toEqual([2, ["1a over", "1b over"]]);
  });

  it("has ended before another server becomes the leader", async () => {
    const { election, times } = lostOnDemand();
    const leaderAtEnd: Promise<string | undefined>[] = [];
    const leading = runWhileLeading({
      election,
      name: "n",
      identity: "me",
      runtime: systemRuntime,
      start: () => [{ [Symbol.dispose]: () => void leaderAtEnd.push(election.leader("n")) }],
    });
    await times(1);
    await leading[Symbol.asyncDispose]();
    expect(await Promise.all(leaderAtEnd)).toEqual(["me"]);
    expect(await election.leader("n")).toBeUndefined();
  });

  it("plans nothing that happens after the leadership, whichever timer comes first", async () => {
    const { election, lose, times } = lostOnDemand();
    const time = manualTime();
    const done: string[] = [];
    await using _ = runWhileLeading({
      election,
      name: "n",
      identity: "me",
      runtime: { ...systemRuntime, ...time },
      start({ scheduler }) {
        scheduler.schedule(1_000, () => done.push("soon"));
        scheduler.schedule(2_000, () => done.push("late"));
        return [];
      },
    });
    await times(1);
    time.advance(1_500);
    // Losing it ends work that has not heard of it when the next timer is due.
    void lose();
    time.advance(1_000);
    expect(done).toEqual(["soon"]);
  });
});
