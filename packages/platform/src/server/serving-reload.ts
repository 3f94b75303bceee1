// Replaces the serving certificate while the server runs: its own before it ends, that of --tls-cert-file when its files change.

import { X509Certificate } from "node:crypto";
import type { Logger } from "@postern/apiserver/logging/logger";
import { Gauge } from "@postern/apiserver/metrics/gauge";
import type { ServerMetrics } from "@postern/apiserver/metrics/server-metrics";
import type { HttpTransport } from "@postern/apiserver/transport/listener/http-transport";
import type { OwnAddresses } from "../features/access-keys/proofs/proof-verifier.ts";
import { PLATFORM, type RotationStates } from "../features/certificate-authorities/rotation-states.ts";
import type { PlatformEndpoint } from "../features/virtual-clusters/platform-endpoint.ts";
import type { Foundation } from "../foundation/foundation.ts";
import { labelledCounter } from "../foundation/metrics/counters.ts";
import { followFiles } from "../foundation/pki/follow-files.ts";
import { adoptPlatformAuthority } from "./platform-authority.ts";
import { isNamedIn, loadConfiguredIdentity, loadServingIdentity, type ServingIdentity } from "./serving-identity.ts";

/** The certificate that clients see now. */
export type ServingState = {
  readonly current: ServingIdentity;
  /** Calls back when the CA that kubeconfigs name is another one. */
  onAuthorityChange(listener: () => void): Disposable;
  /** Calls back with each certificate that takes the place of another. */
  onReplaced(follower: (next: ServingIdentity) => void): Disposable;
  /** Throws where the transport does not take the certificate; then the earlier one stays. */
  replace(next: ServingIdentity, transport: Pick<HttpTransport, "setCredentials">): void;
};

export function createServingState(first: ServingIdentity): ServingState {
  let current = first;
  const listeners = new Set<() => void>();
  const followers = new Set<(next: ServingIdentity) => void>();
  return {
    get current() {
      return current;
    },
    onAuthorityChange(listener) {
      listeners.add(listener);
      return { [Symbol.dispose]: () => listeners.delete(listener) };
    },
    onReplaced(follower) {
      followers.add(follower);
      return { [Symbol.dispose]: () => followers.delete(follower) };
    },
    replace(next, transport) {
      transport.setCredentials(next.tls);
      const hasChanged = next.certificateAuthorityPem !== current.certificateAuthorityPem;
      current = next;
      if (hasChanged) for (const listener of listeners) listener();
      for (const follower of followers) follower(next);
    },
  };
}

/** When the certificate ends, in milliseconds since the epoch. */
export const endOf = ({ tls }: Pick<ServingIdentity, "tls">): number =>
  Date.parse(new X509Certificate(Buffer.from(tls.cert)).validTo);

/** Shows when the certificate ends. Returns what counts a reload: files that changed were taken, or were not. */
export function gaugeServing(
  { registry }: Pick<ServerMetrics, "registry">,
  serving: Pick<ServingState, "current">,
): (result: "loaded" | "refused") => void {
  new Gauge({
    name: "postern_serving_certificate_expiration_timestamp_seconds",
    help: "When the serving certificate expires, in seconds since the epoch",
    registers: [registry],
    collect() {
      this.set(Math.floor(endOf(serving.current) / 1000));
    },
  });
  new Gauge({
    name: "postern_serving_authority_expiration_timestamp_seconds",
    help: "When the CA that signs the serving certificate expires, in seconds since the epoch; absent for the public CAs",
    registers: [registry],
    collect() {
      this.reset();
      const { certificateAuthorityPem: pem } = serving.current;
      if (pem !== undefined) this.set(Math.floor(Date.parse(new X509Certificate(pem).validTo) / 1000));
    },
  });
  return labelledCounter(
    registry,
    "postern_serving_certificate_reloads_total",
    "Changes of the files of --tls-cert-file, by result: loaded, or refused, which keeps the earlier certificate",
    "result",
  );
}

/** As clients reach the server, with the certificate that they see now. */
export const endpointOf = (
  serving: Pick<ServingState, "current" | "onAuthorityChange">,
  url: string,
): PlatformEndpoint & OwnAddresses => ({
  url: () => url,
  isOwnName: (host) => isNamedIn(serving.current.tls, host),
  get certificateAuthorityPem() {
    return serving.current.certificateAuthorityPem;
  },
  onAuthorityChange: serving.onAuthorityChange,
});

type ServingReloadNeeds = {
  readonly transport: Pick<HttpTransport, "setCredentials">;
  readonly serving: ServingState;
  readonly logger: Logger;
  /** For the metric. */
  readonly onReload: (result: "loaded" | "refused") => void;
  /** Rotations of its CA. */
  readonly rotations: Pick<RotationStates, "onChange">;
};

export const reloadCertificate = (base: Foundation, needs: ServingReloadNeeds): Disposable =>
  base.configuration.tlsCertFile === "" ? renewOwnCertificate(base, needs) : followConfiguredFiles(base, needs);

/** Files that do not fit together yet may be complete after this. */
const COMPLETE_MS = 1_000;

function followConfiguredFiles({ configuration, runtime }: Foundation, needs: ServingReloadNeeds): Disposable {
  const { transport, serving, logger, onReload } = needs;
  const { tlsCertFile, tlsPrivateKeyFile, tlsCaFile } = configuration;
  /** Why the last look failed, and whether it was told. */
  let failure: { readonly cause: string; readonly isTold: boolean } | undefined;

  const look = async (): Promise<void> => {
    try {
      const { caPath } = serving.current;
      const found = await loadConfiguredIdentity(configuration, caPath, runtime.clock);
      failure = undefined;
      if (isSame(found, serving.current)) return;
      serving.replace(found, transport);
    } catch (error) {
      fail(error instanceof Error ? error.message : String(error));
      return;
    }
    onReload("loaded");
    const until = new Date(endOf(serving.current)).toISOString();
    logger.info(
      { cause: tlsCertFile },
      `new connections use the changed certificate of --tls-cert-file, until ${until}`,
    );
  };
  const fail = (cause: string): void => {
    if (failure?.cause !== cause) {
      // A program that writes one file after the other is not at fault.
      failure = { cause, isTold: false };
      following.lookIn(COMPLETE_MS);
      return;
    }
    if (failure.isTold) return;
    failure = { cause, isTold: true };
    onReload("refused");
    logger.warn({ cause }, "the files of --tls-cert-file cannot be used: connections keep the earlier certificate");
  };
  const paths = [tlsCertFile, tlsPrivateKeyFile, tlsCaFile].filter((path) => path !== "");
  const following = followFiles(paths, runtime.scheduler, look);
  // The files may have changed since the start read them.
  following.lookIn(0);
  return following;
}

const isSame = (one: ServingIdentity, other: ServingIdentity): boolean =>
  one.tls.cert === other.tls.cert &&
  one.tls.key === other.tls.key &&
  one.certificateAuthorityPem === other.certificateAuthorityPem;

/** A look compares two numbers. A clock that was ahead for a moment must not leave a certificate behind that is not valid yet. */
const INTERVAL_MS = 10_000;

function renewOwnCertificate(base: Foundation, needs: ServingReloadNeeds): Disposable {
  const { configuration, storage, keyRing, runtime } = base;
  const { transport, serving, rotations } = needs;
  const onError = (error: unknown): void => base.onError(error, "serving-certificate");
  let isDisposed = false;
  let timer: Disposable | undefined;
  /** One after the other: each reads the newest record. */
  let adopting: Promise<void> = Promise.resolve();
  const take = async (): Promise<void> => {
    if (isDisposed) return;
    try {
      await adoptPlatformAuthority(configuration, { storage, keyRing, random: runtime.random });
      const next = await loadServingIdentity(configuration, runtime);
      if (!isSame(next, serving.current)) serving.replace(next, transport);
    } catch (error) {
      if (!isDisposed) onError(error);
    }
  };
  const followed = rotations.onChange((id) => {
    if (id === PLATFORM) adopting = adopting.then(take);
  });
  // A step may have been taken since the start read the record.
  adopting = take();
  const look = async (): Promise<void> => {
    const { renewAt = Number.POSITIVE_INFINITY, validFrom = Number.NEGATIVE_INFINITY } = serving.current;
    const now = runtime.clock.now();
    if (now >= renewAt || now < validFrom) {
      try {
        const next = await loadServingIdentity(configuration, runtime);
        if (!isSame(next, serving.current)) serving.replace(next, transport);
      } catch (error) {
        onError(error);
      }
    }
    schedule();
  };
  const schedule = (): void => {
    if (!isDisposed) timer = runtime.scheduler.schedule(INTERVAL_MS, () => void look());
  };
  schedule();
  return {
    [Symbol.dispose]() {
      isDisposed = true;
      followed[Symbol.dispose]();
      timer?.[Symbol.dispose]();
    },
  };
}
