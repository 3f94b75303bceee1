import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { expect, it } from "vitest";
import type { RequestContext } from "../../../context/request-context.ts";
import { KeyExistsError, StorageUnavailableError, ValueTooLargeError } from "../../../storage/storage-errors.ts";
import { createLimitLocks } from "../limit-locks.ts";
import type { StoreContext } from "../store-context.ts";
import { commitPhases } from "./commit.ts";
import { runWrite, Write } from "./write.ts";

type Faults = { readonly encode?: Error; readonly send?: readonly (Error | undefined)[]; readonly check?: Error };

const object: KubeObject = {
  apiVersion: "v1",
  kind: "A",
  metadata: { name: "a", managedFields: [{ manager: "m" }] },
};

/** The steps of a write with a limit and a reservation, where these errors are thrown. */
async function stepsOf({ encode, send = [], check }: Faults, keepsManagedFields = false) {
  const steps: string[] = [];
  const note = async (step: string, error?: Error): Promise<void> => {
    steps.push(step);
    if (error !== undefined) throw error;
  };
  const limitLocks = createLimitLocks();
  const store = {
    keys: { of: () => "key" },
    limitLocks,
    cache: { refresh: () => note("refresh"), waitFor: () => undefined },
    view: { get: () => undefined },
    codec: {
      encode: ({ metadata }: KubeObject) =>
        note(metadata.managedFields === undefined ? "encode without managed fields" : "encode", encode),
      decode: () => [{}],
    },
    strategy: {
      limits: () => [{ name: "keys", check: () => note("check", check) }],
      reserve: async () => {
        await note("reserve");
        return { keep: () => note("keep"), release: () => note("release") };
      },
    },
  } as unknown as StoreContext;
  const context = { pause: () => undefined } as unknown as RequestContext;
  const write = new Write({ store, context, namespace: "", name: "a", object, dryRun: false, keepsManagedFields });
  let sent = 0;
  const phases = commitPhases(async () => {
    await note("send", send[sent++]);
    return 1;
  });
  const failure = await runWrite(phases, write).catch((error: unknown) => error);
  (await limitLocks.hold(["keys"]))();
  return { steps: steps.join(", "), failure };
}

const lost = new StorageUnavailableError("lost");
const taken = new KeyExistsError("key");
const large = new ValueTooLargeError("too large");
const refused = new Error("refused");

it.each<[what: string, faults: Faults, steps: string, failure: Error | undefined]>([
  ["keeps its reservation when it is stored", {}, "check, reserve, encode, send, keep", undefined],
  ["takes nothing when a limit refuses it", { check: refused }, "check", refused],
  [
    "gives its reservation back when the store refuses it",
    { send: [taken] },
    "check, reserve, encode, send, release",
    taken,
  ],
  [
    "gives its reservation back when it fails before the store is asked",
    { encode: refused },
    "check, reserve, encode, release",
    refused,
  ],
  [
    "leaves its reservation, and lets the next one count it, when it may have been stored",
    { send: [lost] },
    "check, reserve, encode, send, refresh",
    lost,
  ],
  [
    "drops managed fields with which it is too large",
    { send: [large, undefined] },
    "check, reserve, encode, send, encode without managed fields, send, keep",
    undefined,
  ],
])("a write %s", async (_, faults, steps, failure) => {
  expect(await stepsOf(faults)).toEqual({ steps, failure });
});

it("a write that keeps its managed fields is refused when it is too large", async () => {
  expect(await stepsOf({ send: [large] }, true)).toEqual({
    steps: "check, reserve, encode, send, release",
    failure: large,
  });
});
