// The transport of a server: probes are answered from the start on, everything else once the server is made.

import { createEventLoopBudget, type EventLoopBudget } from "@postern/apiserver/limits/event-loop-budget";
import type { Faults } from "@postern/apiserver/logging/faults";
import type { Logger } from "@postern/apiserver/logging/logger";
import type { ServerMetrics } from "@postern/apiserver/metrics/server-metrics";
import type { Runtime } from "@postern/apiserver/runtime/clock";
import type { Teardown } from "@postern/apiserver/runtime/teardown";
import type { ApiHandler } from "@postern/apiserver/transport/exchange/serve-exchange";
import { createHttpTransport, type HttpTransport } from "@postern/apiserver/transport/listener/http-transport";
import type { MemoryBudgets } from "./features/budgets/memory-limit.ts";
import type { Configuration } from "./foundation/config/configuration.ts";
import { connectionShare, type ThreadShare } from "./foundation/config/thread-share.ts";
import type { Front } from "./fronts/front.ts";
import { transportLimitsOf, trustedProxiesOf } from "./server/rate-limits.ts";
import type { ServingIdentity } from "./server/serving-identity.ts";
import { createStartingHandler } from "./server/starting-handler.ts";

export type OpenTransport = {
  readonly transport: HttpTransport;
  readonly port: number;
  readonly eventLoopBudget: EventLoopBudget;
  /** Answers all requests by `handler` from now on, and drains them when the server is taken down. */
  serve(handler: ApiHandler): void;
  /** To be called once requests can be answered: a further thread listens from then on, since others take connections meanwhile. */
  join(): Promise<void>;
};

/** The first thread listens. Rejects with the error of a port that cannot be listened on. */
export async function openTransport(
  parts: {
    readonly configuration: Configuration;
    readonly share: ThreadShare;
    readonly serving: ServingIdentity;
    readonly memory: MemoryBudgets;
    readonly runtime: Runtime;
    readonly logger: Logger;
    readonly faults: Faults;
    readonly metrics: ServerMetrics;
    /** The other servers of this process. Undefined: it is the only one. */
    readonly front: Front | undefined;
  },
  teardown: Teardown,
): Promise<OpenTransport> {
  const { configuration, share, runtime, logger, metrics, front } = parts;
  const { clock, scheduler, random } = runtime;
  // Very many objects take seconds to load.
  const starting = createStartingHandler(logger);
  const eventLoopBudget = createEventLoopBudget(clock);
  const transport = createHttpTransport({
    tls: parts.serving.tls,
    bindAddress: configuration.bindAddress,
    port: front?.isFirst === false ? front.port : configuration.securePort,
    portShare: front && (front.isFirst ? "first" : "further"),
    ticketKeys: front?.ticketKeys,
    logger,
    faults: parts.faults,
    clock,
    scheduler,
    random,
    eventLoopBudget,
    onTlsHandshakeError: () => metrics.tlsHandshakeError(),
    onConnectionDropped: (reason) => metrics.connectionDropped(reason),
    onTakenBack: () => metrics.requestTakenBack(),
    onUnreadCut: () => metrics.unreadResponseCut(),
    limits: transportLimitsOf(configuration, parts.memory),
    goawayChance: configuration.goawayChance,
    connectionShare: () => connectionShare(share),
    trustedProxies: trustedProxiesOf(configuration),
    handler: starting.handle,
  });
  // Only where the start fails; it is closed before everything below otherwise.
  teardown.defer(() => transport.close({ drainMs: 0 }));
  teardown.use(starting);
  const port = front?.isFirst === false ? front.port : (await transport.listen()).port;
  return {
    transport,
    port,
    eventLoopBudget,
    serve(handler) {
      transport.serve(handler);
      starting.open(handler);
      metrics.followBacklog(transport.backlog);
      teardown.defer(() => transport.close({ drainMs: configuration.shutdownDrainSeconds * 1000 }));
    },
    async join() {
      if (front?.isFirst === false) await transport.listen();
    },
  };
}
