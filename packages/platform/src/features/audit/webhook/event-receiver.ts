// The receiver that --audit-webhook-config-file names, in the format of a kubeconfig.

import type { Runtime } from "@postern/apiserver/runtime/clock";
import { KubeconfigError } from "@postern/client/kubeconfig";
import { loadConnection } from "@postern/client/load-kubeconfig";
import { type ProxyEnvironment, ProxyError } from "@postern/client/transport/http-proxy";
import { createNodeTransport } from "@postern/client/transport/node";
import type { Transport } from "@postern/client/transport/transport";
import { ConfigurationError } from "../../../foundation/config/configuration-error.ts";
import { drainAnswer } from "../../../foundation/http/drain-answer.ts";

export type EventReceiver = AsyncDisposable & {
  /** Host and port, without the rest of its address, which may hold a credential. */
  readonly host: string;
  /** The file had a token when it was opened, and its address is an http URL: the token is not sent. */
  readonly isTokenWithheld: boolean;
  /** Resolves with the status. Rejects where there is no answer in time, or the file or what it names is of no use by now. */
  send(body: string, signal: AbortSignal): Promise<number>;
};

/** As in kube-apiserver. */
const TIMEOUT_MS = 30_000;

/** Rejects with ConfigurationError where the file cannot be used. */
export async function openEventReceiver(deps: {
  readonly file: string;
  readonly proxyEnvironment: ProxyEnvironment;
  readonly scheduler: Runtime["scheduler"];
}): Promise<EventReceiver> {
  let current: Target | undefined = await open(deps).catch((error: unknown) => {
    if (!(error instanceof KubeconfigError || error instanceof ProxyError)) throw error;
    throw new ConfigurationError(`--audit-webhook-config-file ${deps.file}: ${error.message}`, { cause: error });
  });
  let { host } = current;
  return {
    get host() {
      return host;
    },
    isTokenWithheld: current.isTokenWithheld,
    async send(body, signal) {
      current ??= await open(deps);
      const target = current;
      host = target.host;
      const late = new AbortController();
      const timer = deps.scheduler.schedule(TIMEOUT_MS, () => late.abort(new Error("no answer in time")));
      try {
        const { status, body: answer } = await target.transport.send({
          method: "POST",
          path: target.path,
          headers: target.headers,
          body,
          signal: AbortSignal.any([signal, late.signal]),
        });
        await drainAnswer(answer);
        if (status >= 300) current = undefined;
        return status;
      } catch (error) {
        current = undefined;
        throw error;
      } finally {
        timer[Symbol.dispose]();
        // The file, its certificates and its token may be others by now.
        if (current === undefined) await target.transport[Symbol.asyncDispose]();
      }
    },
    async [Symbol.asyncDispose]() {
      await current?.transport[Symbol.asyncDispose]();
    },
  };
}

type Target = Pick<EventReceiver, "host" | "isTokenWithheld"> & {
  readonly transport: Transport;
  readonly path: string;
  readonly headers: { readonly [name: string]: string };
};

async function open({
  file,
  proxyEnvironment,
}: {
  readonly file: string;
  readonly proxyEnvironment: ProxyEnvironment;
}): Promise<Target> {
  const { transport, token } = await loadConnection({ path: file, environment: {} });
  const url = urlOf(transport.server, file);
  // As client-go: a token is sent where others cannot read it.
  const isTokenWithheld = token !== undefined && url.protocol === "http:";
  return {
    host: url.host,
    isTokenWithheld,
    transport: createNodeTransport({ ...transport, server: url.origin, proxyEnvironment }),
    path: `${url.pathname}${url.search}`,
    headers: {
      "content-type": "application/json",
      "user-agent": "postern",
      ...(token === undefined || isTokenWithheld ? {} : { authorization: `Bearer ${token}` }),
    },
  };
}

function urlOf(server: string, file: string): URL {
  const url = URL.parse(server);
  if (url !== null && /^https?:$/.test(url.protocol)) return url;
  throw new KubeconfigError(`the server in ${file} is no http or https URL`);
}
