// Answers requests while a server loads its objects: probes at once, all others when it has loaded them.

import { type HealthCheck, NotReadyError, pingCheck } from "@postern/apiserver/health/health-check";
import { createHealthHandler } from "@postern/apiserver/health/health-handler";
import type { Logger } from "@postern/apiserver/logging/logger";
import { textResponse } from "@postern/apiserver/transport/api-response";
import type { ApiHandler } from "@postern/apiserver/transport/exchange/serve-exchange";

export type StartingHandler = Disposable & {
  readonly handle: ApiHandler;
  /** Gives what waits to the handler of the server that has started. */
  open(handler: ApiHandler): void;
};

const loadingCheck: HealthCheck = {
  name: "objects-loaded",
  check() {
    throw new NotReadyError("the objects of the store are being loaded");
  },
};

/** A server that is disposed before it has started answers what waits with 503. */
export function createStartingHandler(logger: Logger): StartingHandler {
  const notReady = [pingCheck, loadingCheck];
  const answerProbe = createHealthHandler({ healthz: notReady, livez: [pingCheck], readyz: notReady }, logger);
  let settle: (handler: ApiHandler) => void = () => {};
  const opening = new Promise<ApiHandler>((resolve) => {
    settle = resolve;
  });
  return {
    handle(request) {
      const probe = request.method === "GET" ? answerProbe(request) : undefined;
      return probe ?? opening.then((handler) => handler(request));
    },
    open: settle,
    [Symbol.dispose]() {
      settle(() => textResponse(503, "the server is stopping\n"));
    },
  };
}
