// The key of an agent: with a platform and a Secret of the test.

import type { AgentKey } from "@postern/api/cluster-tunnel";
import { describe, expect, it } from "vitest";
import { createAgentKeys } from "./agent-keys.ts";
import type { AgentState } from "./agent-state.ts";
import { PlatformRefusal } from "./platform-requests.ts";
import { createVersionCheck } from "./server-version.ts";

type Line = { readonly message: string; readonly [member: string]: unknown };

/** Two agents share the store: a write fails where the other one has written since the last read. */
function sharedStore(first: AgentState) {
  let state = first;
  let version = 0;
  return {
    state: () => state,
    open() {
      let read = -1;
      return {
        async read() {
          read = version;
          return state;
        },
        async write(changes: { readonly [member: string]: string | undefined }) {
          if (read !== version) return false;
          const all = Object.entries({ ...state, ...changes }).filter(([, value]) => value !== undefined);
          state = Object.fromEntries(all);
          read = ++version;
          return true;
        },
      };
    },
  };
}

type Platform = {
  readonly join?: (value: string) => AgentKey;
  readonly exchange?: () => AgentKey;
};

function agentWith(store: ReturnType<typeof sharedStore>, { join, exchange }: Platform, token = "token") {
  const log: Line[] = [];
  const write = (message: string, members: object = {}): void => void log.push({ message, ...members });
  const missing = (): never => {
    throw new Error("not asked for");
  };
  const keys = createAgentKeys({
    store: store.open(),
    requests: {
      join: async (value) => (join ?? missing)(value),
      exchange: async () => (exchange ?? missing)(),
      nextKey: missing,
    },
    identity: async () => (token === "none" ? undefined : { token, jwks: "{}" }),
    log: { info: write, warn: write },
    now: Date.now,
    signal: new AbortController().signal,
    onAuthority: () => undefined,
  });
  return { keys, log };
}

const inHours = (hours: number): string => new Date(Date.now() + hours * 3_600_000).toISOString();

describe("the key of an agent", () => {
  it("stays in its memory where the platform takes tokens of its ServiceAccount, and is renewed before its end", async () => {
    const store = sharedStore({ join: "value" });
    let made = 0;
    const issue = (hours: number) => (): AgentKey => ({
      ...{ cluster: "edge", identity: "token", key: `key-${++made}` },
      expirationTimestamp: inHours(hours),
    });
    const { keys } = agentWith(store, { join: issue(24), exchange: issue(24) });
    expect([await keys.current(), await keys.current()]).toEqual(["key-1", "key-1"]);
    expect(store.state()).toEqual({ identity: "token", cluster: "edge" });
    expect(await keys.current({ isRefused: true })).toBe("key-2");
    expect([await keys.rotate({ isWanted: false }, new AbortController().signal), await keys.current()]).toEqual([
      false,
      "key-2",
    ]);
    expect([await keys.rotate({ isWanted: true }, new AbortController().signal), await keys.current()]).toEqual([
      true,
      "key-3",
    ]);
    // Another replica has no key yet.
    expect(await agentWith(store, { exchange: issue(24) }).keys.current()).toBe("key-4");
  });

  it("is stored where the platform does not take the token, and the log says why", async () => {
    const store = sharedStore({ join: "value" });
    const join = (): AgentKey => ({ cluster: "edge", key: "key-1", identityFault: "the token has expired (exp)" });
    const { keys, log } = agentWith(store, { join });
    expect(await keys.current()).toBe("key-1");
    expect(store.state()).toMatchObject({ key: "key-1" });
    expect(log.map(({ reason }) => reason)).toContain("the token has expired (exp)");
  });

  it("is none where the platform refuses the join value, for the platform's reason", { timeout: 20_000 }, async () => {
    const join = (): never => {
      throw new PlatformRefusal(403, "the join value has expired");
    };
    const { keys } = agentWith(sharedStore({ join: "value" }), { join });
    await expect(keys.current()).rejects.toThrow("the join value has expired");
  });

  it("needs the manifests again where the token that it was exchanged for is missing", async () => {
    const { keys } = agentWith(sharedStore({ identity: "token", cluster: "edge" }), {}, "none");
    await expect(keys.current()).rejects.toThrow("apply the manifests of the agent again");
  });
});

it("the log says once that a server is more than one minor release away", () => {
  const said: Line[] = [];
  const check = createVersionCheck("0.4.1", {
    warn: (message, members = {}) => void said.push({ message, ...members }),
  });
  for (const server of ["0.4.0", "0.5.2", "0.3.0", "dev", "0.6.0", "0.6.0", "0.2.9", "1.4.0"]) check(server);
  expect(said.map(({ server, advice }) => `${server}: ${advice}`)).toEqual([
    "0.6.0: apply the manifests of the agent again",
    "0.2.9: upgrade the platform, or use an older agent",
    "1.4.0: apply the manifests of the agent again",
  ]);
});
