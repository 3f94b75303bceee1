import { X509Certificate } from "node:crypto";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { createTestContext } from "@postern/apiserver/testing/test-context";
import { describe, expect, it } from "vitest";
import { TEST_VERSION } from "../../../server/testing/tenancy.ts";
import type { DirectoryUser } from "../../directory/directory.ts";
import { createCertificateHolders } from "./certificate-holders.ts";
import { createEmbeddedBackend } from "./embedded-backend.ts";
import { createEmbeddedHost, names, signal } from "./testing/embedded-host.ts";

const groups = {
  userGroup: (user: string) => `example:user:${user}`,
  teamGroup: (team: string) => `example:team:${team}`,
};
const alice = { name: "alice", subject: "alice@example.test", locked: false };

function createPeople() {
  const users = new Map<string, Pick<DirectoryUser, "name" | "subject" | "locked">>([["alice", alice]]);
  const teams = new Set(["devs"]);
  const listeners = new Set<() => void>();
  // Of users and teams, only these members are looked at.
  const directory = {
    user: (name: string) => users.get(name),
    userBySubject: (subject: string) => [...users.values()].find((user) => user.subject === subject),
    team: (name: string) => (teams.has(name) ? { name } : undefined),
    onChange(listener: () => void) {
      listeners.add(listener);
      return { [Symbol.dispose]: () => void listeners.delete(listener) };
    },
  } as any;
  const changed = () => {
    for (const listener of listeners) listener();
  };
  return { users, teams, listeners, changed, holders: createCertificateHolders(directory, groups) };
}

const CN = "alice@example.test";
const asAlice = { name: CN, groups: ["example:user:alice", "devs"] };

describe("the certificate of a user without access (security book 13)", () => {
  it.each([
    ["a user who is there", asAlice, () => {}, false],
    ["a user who is locked", asAlice, (people: any) => people.users.set("alice", { ...alice, locked: true }), true],
    [
      "a locked user's name without groups",
      { name: CN, groups: [] },
      (people: any) => people.users.set("alice", { ...alice, locked: true }),
      true,
    ],
    ["a user who is gone", asAlice, (people: any) => people.users.delete("alice"), true],
    [
      "a user whose name is now another's",
      asAlice,
      (people: any) => people.users.set("alice", { ...alice, subject: "other" }),
      true,
    ],
    ["a team that is there", { name: "example:team:devs", groups: ["example:team:devs"] }, () => {}, false],
    ["a team that is gone", { name: "example:team:devs", groups: [] }, (people: any) => people.teams.clear(), true],
    ["somebody whom the platform does not know", { name: "robot", groups: ["devs"] }, () => {}, false],
  ])("%s", (_who, holder, happens, isRefused) => {
    const people = createPeople();
    happens(people);
    expect(people.holders.isRefused(holder)).toBe(isRefused);
  });

  it("gives no identity, and its connections are closed (security book 15)", async () => {
    await using host = await createEmbeddedHost();
    await host.setUp("one");
    const { users, holders, changed, listeners } = createPeople();
    const backend = createEmbeddedBackend(
      {
        clusters: host.clusters,
        names,
        runtime: systemRuntime,
        version: TEST_VERSION,
        serverCertificateAuthority: undefined,
        holders,
      },
      "one",
    );
    const { certificatePem } = await backend.issueClientCertificate(
      { commonName: CN, organizations: asAlice.groups, expirationSeconds: 600 },
      signal,
    );
    const certificate = new X509Certificate(certificatePem);
    const presented = createTestContext({ url: "/api" }).request.with({ peerCertificate: () => certificate });

    const authentication = await backend.authenticateCertificate(presented);
    expect(authentication?.user.name).toBe(CN);
    let cuts = 0;
    const watch = authentication?.credential?.onRevoked?.(() => cuts++);
    changed();
    expect(cuts).toBe(0);
    users.set("alice", { ...alice, locked: true });
    changed();
    expect(cuts).toBe(1);
    expect(await backend.authenticateCertificate(presented)).toBeUndefined();
    watch?.[Symbol.dispose]();
    expect(listeners.size).toBe(0);
    users.set("alice", alice);
    expect(await backend.authenticateCertificate(presented)).toMatchObject({ user: { name: CN } });
  });
});
