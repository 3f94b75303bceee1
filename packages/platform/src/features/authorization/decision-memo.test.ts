import { describe, expect, it } from "vitest";
import { accessKey } from "../access-keys/testing/access-key.ts";
import { DecisionMemo } from "./decision-memo.ts";
import type { PlatformRequest } from "./request/platform-request.ts";
import { inner, intoCluster, intoVirtualCluster, management, path, userInfo } from "./testing/memory-world.ts";

const alice = userInfo("alice");
const key = accessKey();
const request = management({ resource: "projects", name: "a" });

/** Queries a memo, and returns whether it was a miss. */
function asked() {
  const memo = new DecisionMemo();
  return (parts: {
    readonly version?: number;
    readonly user?: typeof alice;
    readonly key?: typeof key | undefined;
    readonly request?: PlatformRequest;
  }): "decided" | "recalled" => {
    let answer: "decided" | "recalled" = "recalled";
    const { version = 1, user = alice, request: about = request } = parts;
    memo.recall(version, user, "key" in parts ? parts.key : key, about, () => {
      answer = "decided";
      return { verdict: "allow", code: "role", reason: "", annotations: {} };
    });
    return answer;
  };
}

describe("DecisionMemo", () => {
  it("decides once, and again after each change of permissions, even a reverted one", () => {
    const ask = asked();
    expect([ask({}), ask({}), ask({ user: userInfo("alice") })]).toEqual(["decided", "recalled", "recalled"]);
    expect([ask({ version: 2 }), ask({ version: 2 }), ask({})]).toEqual(["decided", "recalled", "decided"]);
  });

  it("gives back the decision that was made", () => {
    const memo = new DecisionMemo();
    const decision = { verdict: "deny", code: "out-of-scope", reason: "why", annotations: {} } as const;
    for (const made of [decision, { ...decision, reason: "another" }]) {
      expect(memo.recall(1, alice, undefined, request, () => made)).toBe(decision);
    }
  });

  it("keeps users, their groups, keys and revisions of keys apart", () => {
    const ask = asked();
    ask({});
    for (const parts of [
      { user: userInfo("bob") },
      { user: userInfo("alice", "devs") },
      { user: { name: "", groups: ["alice", ...alice.groups] } },
      { key: undefined },
      { key: accessKey({ uid: "another" }) },
      { key: accessKey({ revision: 2 }) },
    ]) {
      expect([parts, ask(parts), ask(parts)]).toEqual([parts, "decided", "recalled"]);
    }
  });

  it("keeps requests apart that differ in anything, and only those", () => {
    const ask = asked();
    const parts = { resource: "pods", verb: "list", namespace: "default" };
    const space = (project: string, name: string): PlatformRequest => ({
      target: "ProjectSpace",
      project,
      space: name,
      inner: inner(parts),
    });
    const requests: readonly PlatformRequest[] = [
      management({}),
      ...["resource", "subresource", "namespace", "name", "verb", "apiGroup"].map((part) =>
        management({ [part]: "x" }),
      ),
      management({ name: "/x" }),
      management(parts),
      { target: "Management", inner: inner(parts) },
      intoCluster("a", parts),
      intoCluster("b", parts),
      intoCluster("a", { ...parts, verb: "get" }),
      space("a", "a"),
      space("a", "b"),
      space("b", "a"),
      intoVirtualCluster("a", "a", parts),
      intoVirtualCluster("a", "b", parts),
      intoVirtualCluster("b", "a", parts),
      intoVirtualCluster("a", "a", { ...parts, name: "x" }),
      path("/x"),
      path("/y"),
      path("/x", "post"),
      { target: "Cluster", cluster: "a", inner: path("/x").inner },
    ];
    expect(requests.map((each) => ask({ request: each }))).toEqual(requests.map(() => "decided"));
    expect(requests.map((each) => ask({ request: each }))).toEqual(requests.map(() => "recalled"));
    // The request before is compared in another way.
    for (const one of requests) {
      for (const other of requests.filter((each) => each !== one)) {
        const again = asked();
        const answers = [one, other, one].map((each) => again({ request: each }));
        expect([one, other, answers]).toEqual([one, other, ["decided", "decided", "recalled"]]);
      }
    }
  });

  it("forgets everything when it knows fifty thousand decisions", () => {
    const ask = asked();
    const fill = (from: number, to: number): void => {
      for (let at = from; at < to; at++) ask({ request: path(`/${at}`) });
    };
    fill(0, 49_999);
    expect(ask({ request: path("/0") })).toBe("recalled");
    fill(49_999, 50_000);
    expect(ask({ request: path("/0") })).toBe("decided");
    expect(ask({ request: path("/0") })).toBe("recalled");
    expect(ask({ request: path("/1") })).toBe("decided");
  });
});
