import { describe, expect, it, test } from "vitest";
import {
  clusterIdentity,
  isAuthenticated,
  isInTeam,
  isOwner,
  isUser,
  parseClusterIdentity,
  parseVirtualClusterIdentity,
  virtualClusterIdentity,
} from "./caller.ts";
import { names, userInfo } from "./testing/memory-world.ts";

const alice = userInfo("alice", "devs");
/** Groups from outside that correspond to no user or team. */
const nameless = { name: "x", groups: ["postern:user:", "postern:team:"] };

describe("users and teams", () => {
  it("are recognized by groups alone, not by the caller's name", () => {
    expect([isUser(alice, "alice", names), isInTeam(alice, "devs", names)]).toEqual([true, true]);
    expect([isUser(alice, "devs", names), isInTeam(alice, "alice", names)]).toEqual([false, false]);
    expect(isUser({ name: "alice", groups: [] }, "alice", names)).toBe(false);
    expect([isAuthenticated(alice), isAuthenticated({ groups: ["postern:user:alice"] })]).toEqual([true, false]);
  });

  it("have a name", () => {
    expect([isUser(nameless, "", names), isInTeam(nameless, "", names)]).toEqual([false, false]);
    expect(isOwner(nameless, { user: "", team: "" }, names)).toBe(false);
  });

  it("own what names one of them", () => {
    expect(isOwner(alice, { user: "alice", team: "" }, names)).toBe(true);
    expect(isOwner(alice, { user: "", team: "devs" }, names)).toBe(true);
    expect(isOwner(alice, { user: "bob", team: "ops" }, names)).toBe(false);
    expect(isOwner(alice, { user: "devs", team: "alice" }, names)).toBe(false);
  });
});

describe("identities of control planes", () => {
  it("are read as they are written", () => {
    expect(virtualClusterIdentity(names, "p-a", "v1")).toBe("postern:vcluster:p-a:v1");
    expect(parseVirtualClusterIdentity(names, "postern:vcluster:p-a:v1")).toEqual({ namespace: "p-a", instance: "v1" });
    expect(clusterIdentity(names, "c1")).toBe("postern:cluster:c1");
    expect(parseClusterIdentity(names, "postern:cluster:c1")).toBe("c1");
  });

  test.each([
    "",
    "p-a:v1",
    "postern:vcluster:",
    "postern:vcluster::",
    "postern:vcluster:p-a",
    "postern:vcluster:p-a:",
    "postern:vcluster::v1",
    "postern:vcluster:p-a:v1:",
    "postern:vcluster:p-a:v1:x",
    "postern:vclusters:p-a:v1",
    "someone:else:who:p-a:v1",
    "xxxxxxxxxxxxxxxxxp-a:v1",
    "POSTERN:vcluster:p-a:v1",
  ])("'%s' is no virtual cluster", (name) => expect(parseVirtualClusterIdentity(names, name)).toBeUndefined());

  test.each([
    "",
    "c1",
    "postern:cluster:",
    "postern:cluster:c1:",
    "postern:cluster:c1:x",
    "postern:clusters:c1",
    "xxxxxxxxxxxxxxxxc1",
    "Postern:cluster:c1",
  ])("'%s' is no cluster", (name) => expect(parseClusterIdentity(names, name)).toBeUndefined());
});
