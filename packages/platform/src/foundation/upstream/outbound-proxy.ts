// The HTTP proxy through which the server reaches hosts outside its network, as the variables of its environment name it (ADR 353).

import { namedProxy, ProxyError, proxyBeyond } from "@postern/client/transport/http-proxy";
import type { Configuration } from "../config/configuration.ts";
import { ConfigurationError } from "../config/configuration-error.ts";

/** The proxy for a host, without brackets, and a port. Undefined: none. */
export type OutboundProxy = (host: string, port: number) => URL | undefined;

type ProxySettings = Pick<Configuration, "proxyEnvironment">;

/** For hosts that the configuration or an administrator names. */
export const outboundProxy =
  ({ proxyEnvironment }: ProxySettings): OutboundProxy =>
  (host, port) =>
    proxyBeyond(host, port, proxyEnvironment);

/** The proxy that the environment names. Undefined: none. Throws ConfigurationError for one that cannot be used. */
export function proxyOfEnvironment({ proxyEnvironment }: ProxySettings): URL | undefined {
  try {
    return namedProxy(proxyEnvironment);
  } catch (cause) {
    if (!(cause instanceof ProxyError)) throw cause;
    throw new ConfigurationError(cause.message, { cause });
  }
}
