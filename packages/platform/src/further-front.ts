// A further server of the process, in a thread of its own: on the store, port and audit log of the first.

import type { MessagePort } from "node:worker_threads";
import type { Faults } from "@postern/apiserver/logging/faults";
import { metricValuesOf } from "@postern/apiserver/metrics/merge-metrics";
import { createTeardown, type Teardown } from "@postern/apiserver/runtime/teardown";
import { neverLeading } from "@postern/apiserver/storage/leader-election";
import { joinSqliteStorage } from "@postern/stores/sqlite/sqlite-storage";
import { composeServer, type RunningServer } from "./compose-server.ts";
import type { ConsoleBuild } from "./features/console/console-build.ts";
import type { LoadDocumentation } from "./features/documentation/documentation-route.ts";
import { createLink, type Link } from "./features/virtual-clusters/embedded/threads/messages/link.ts";
import { BEAT_MS } from "./foundation/stall-watch.ts";
import { limitLocksBehind } from "./foundation/store/limits-of-threads.ts";
import { openServerStore } from "./foundation/store/open-server-store.ts";
import { type OpenedStore, openStore, sharedSqlite } from "./foundation/store/open-store.ts";
import { createAuditThroughFirst } from "./fronts/audit-through-first.ts";
import type { FurtherFront, FurtherParts } from "./fronts/front.ts";
import {
  beat,
  type FirstCalls,
  type FirstNotes,
  type FrontSums,
  type FurtherCalls,
  type FurtherFrontData,
  type FurtherNotes,
  isMemoryShort,
} from "./fronts/front-methods.ts";
import { threadShareOf } from "./fronts/front-share.ts";
import { stopReading } from "./fronts/stop-reading.ts";
import type { ServingIdentity } from "./server/serving-identity.ts";
import { memoryOf, openBasics, openServerCache, type ServerBasics } from "./server-parts.ts";

export type FurtherSurroundings = {
  /** Loads the files of the console on the first request of a browser. */
  readonly loadConsole: () => Promise<ConsoleBuild>;
  readonly loadDocumentation: LoadDocumentation;
  /** See ServerSurroundings. */
  readonly onFaults: (faults: Faults) => Disposable;
};

/** A thread that ends by an error loses the counts of so long. */
const HAND_OVER_MS = 5_000;

type FirstLink = Link<FirstCalls, FirstNotes>;

/** Runs until the first front closes it. Rejects with the error of its start; the thread has to end then. */
export async function runFurtherFront(
  port: MessagePort,
  data: FurtherFrontData,
  surroundings: FurtherSurroundings,
): Promise<void> {
  const teardown = createTeardown();
  const served: { parts?: FurtherParts } = {};
  const load = (): FrontSums => ({
    busyMs: performance.eventLoopUtilization().active,
    connections: served.parts?.departures.staying ?? 0,
  });
  const beating = setInterval(() => beat(data.state, load()), BEAT_MS);
  teardown.defer(() => clearInterval(beating));
  let server: RunningServer | undefined;
  let onMetrics: FurtherMetrics = async () => [];
  const followers: ((serving: ServingIdentity) => void)[] = [];
  const link = createLink<FurtherCalls, FurtherNotes, FirstCalls, FirstNotes>({
    port,
    calls: {
      metrics: () => onMetrics(),
      handOverActivity() {
        handOverActivity();
        return undefined;
      },
      async writeUses(uids) {
        await partsOf(served).writeUses(uids);
        return undefined;
      },
      async retire() {
        await partsOf(served).departures.retire();
        return undefined;
      },
      stopReading() {
        stopReading();
        return undefined;
      },
      async close() {
        await server?.close();
        stopReading();
        handOverActivity();
        return await onMetrics();
      },
    },
    notes: {
      serving(next) {
        for (const follower of followers) follower(next);
      },
      move: (count) => partsOf(served).departures.move(count),
    },
    // The first one takes what the thread throws.
    onError(error) {
      throw error;
    },
  });
  const handOverActivity = (): void => link.note("activity", partsOf(served).activity.take());
  try {
    const basics = await openBasics(data.configuration, { ...surroundings, withProcessMetrics: false }, teardown);
    onMetrics = () => metricValuesOf(basics.metrics.registry);
    server = await compose(data, { ...surroundings, basics, link, followers, served }, teardown);
    basics.started();
  } catch (error) {
    await teardown.run();
    throw error;
  }
  const handingOver = setInterval(handOverActivity, HAND_OVER_MS);
  teardown.defer(() => clearInterval(handingOver));
  link.note("ready", undefined);
}

function partsOf({ parts }: { readonly parts?: FurtherParts }): FurtherParts {
  if (parts === undefined) throw new Error("the front is starting");
  return parts;
}

type FurtherMetrics = () => ReturnType<typeof metricValuesOf>;

async function compose(
  data: FurtherFrontData,
  parts: Pick<FurtherSurroundings, "loadConsole" | "loadDocumentation"> & {
    readonly basics: ServerBasics;
    readonly link: FirstLink;
    readonly followers: ((serving: ServingIdentity) => void)[];
    readonly served: { parts?: FurtherParts };
  },
  teardown: Teardown,
): Promise<RunningServer> {
  const { basics, link, loadConsole, loadDocumentation, followers, served } = parts;
  const { configuration } = data;
  const store = await openServerStore({
    ...basics,
    configuration,
    secrets: data.secrets,
    teardown,
    join: () => openPlace(data),
  });
  const { budgets } = memoryOf(configuration, data.first);
  const { cache, counted } = openServerCache(store, budgets, basics, teardown);
  const front: FurtherFront = {
    isFirst: false,
    ticketKeys: data.ticketKeys,
    number: data.number,
    id: data.id,
    port: data.port,
    audit: createAuditThroughFirst(basics.runtime.clock, (sent) => link.call("audit", sent)),
    link: {
      isValid: (secret) => link.call("isLinkValid", secret),
      take: (secret) => link.call("takeLink", secret),
    },
    usedProofs: { take: (proof) => link.call("takeProof", proof) },
    onServing: (listener) => void followers.push(listener),
    scrape: () => link.call("scrape", undefined),
    readActivity: () => link.call("activity", undefined),
    gatherUses: async (uids) => void (await link.call("gatherUses", uids)),
    limitLocks: limitLocksBehind(() => link),
    serve(given) {
      served.parts = given;
    },
  };
  return await composeServer({
    ...basics,
    configuration,
    share: threadShareOf(data.share),
    manifests: [],
    store,
    serving: data.serving,
    cache,
    memory: budgets,
    counted,
    isMemoryShort: () => isMemoryShort(data.state),
    loadConsole,
    loadDocumentation,
    front,
    teardown,
  });
}

async function openPlace({ configuration, connection, table, number }: FurtherFrontData): Promise<OpenedStore> {
  if (connection !== undefined) return sharedSqlite(await joinSqliteStorage(connection), { table, server: number });
  const opened = await openStore(configuration, { isServer: true });
  return { ...opened, election: neverLeading(opened.election) };
}
