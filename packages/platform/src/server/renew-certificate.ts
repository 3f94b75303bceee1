// Shows a new serving certificate before the old one ends, without a restart.

import type { Runtime } from "@postern/apiserver/runtime/clock";
import type { HttpTransport } from "@postern/apiserver/transport/http-transport";
import type { Configuration } from "../config/configuration.ts";
import { loadServingIdentity } from "./serving-identity.ts";

/** Timers hold no more than 2^31 ms; looking once a day is often enough anyway. */
const INTERVAL_MS = 24 * 3600 * 1000;

export type CertificateRenewalDeps = {
  readonly configuration: Configuration;
  readonly runtime: Runtime;
  readonly transport: Pick<HttpTransport, "setCredentials">;
  /** Undefined for a certificate that the server does not manage. */
  readonly renewAt: number | undefined;
  readonly onError: (error: unknown) => void;
};

export function renewCertificate({
  configuration,
  runtime,
  transport,
  renewAt,
  onError,
}: CertificateRenewalDeps): Disposable {
  let due = renewAt;
  let timer: Disposable | undefined;
  const look = async (): Promise<void> => {
    if (due !== undefined && runtime.clock.now() >= due) {
      try {
        const identity = await loadServingIdentity(configuration, runtime);
        transport.setCredentials(identity.tls);
        due = identity.renewAt;
      } catch (error) {
        onError(error);
      }
    }
    schedule();
  };
  const schedule = (): void => {
    if (due !== undefined) timer = runtime.scheduler.schedule(INTERVAL_MS, () => void look());
  };
  schedule();
  return {
    [Symbol.dispose]() {
      due = undefined;
      timer?.[Symbol.dispose]();
    },
  };
}
