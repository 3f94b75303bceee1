// States what a listener needs from the server that runs it.

import type { EventLoopBudget } from "../../limits/event-loop-budget.ts";
import type { Faults } from "../../logging/faults.ts";
import type { Logger } from "../../logging/logger.ts";
import type { Clock, Random, Scheduler } from "../../runtime/clock.ts";
import type { TrustedProxies } from "../addresses/trusted-proxies.ts";
import type { DropReason } from "../connections/connection-gate.ts";
import type { ApiHandler } from "../exchange/serve-exchange.ts";
import type { TlsCredentials } from "../tls/secure-server.ts";
import type { TransportLimits } from "../transport-limits.ts";
import type { PortShare } from "./listen-together.ts";

export type HttpTransportOptions = {
  readonly tls: TlsCredentials;
  /** An IP address or host name. */
  readonly bindAddress: string;
  /** 0 lets the operating system choose. */
  readonly port: number;
  /** Other threads of this process listen on the same port. From Node 23.1 on. Default: none do. */
  readonly portShare?: PortShare | undefined;
  /** 48 bytes, with which TLS sessions are resumed. Default: random ones, so that only this listener resumes them. */
  readonly ticketKeys?: Uint8Array | undefined;
  /** Must not reject; if it does, the client gets a bare 500. */
  readonly handler: ApiHandler;
  readonly logger: Logger;
  /** Takes errors that no handler answers. Default: the log. */
  readonly faults?: Faults | undefined;
  readonly clock: Pick<Clock, "elapsed">;
  readonly scheduler: Scheduler;
  readonly random: Random;
  /** Shared with the fair shares of the handler. Default: one of its own. */
  readonly eventLoopBudget?: EventLoopBudget | undefined;
  readonly limits?: Partial<TransportLimits>;
  /** The part of the limits of connections that this listener has, up to 1; it may change. Default: all. */
  readonly connectionShare?: (() => number) | undefined;
  /** The share of requests over HTTP/2, up to 1, behind which their connection ends. Default: 0. */
  readonly goawayChance?: number;
  /** Default: none. */
  readonly trustedProxies?: TrustedProxies | undefined;
  readonly onTlsHandshakeError?: () => void;
  /** A connection was ended in favour of others, or for its silence. */
  readonly onConnectionDropped?: (reason: DropReason) => void;
  /** A client took a request back before its turn came: nothing else is known of it, and nothing is recorded. */
  readonly onTakenBack?: () => void;
  /** A response was cut, because clients had left too much unread. */
  readonly onUnreadCut?: () => void;
};
