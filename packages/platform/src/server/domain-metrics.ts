// Metrics of access keys, kubeconfigs, certificates and the audit log. Keys are counted in slices, because validity depends on time, owners and
// ancestors. Labels have few values, and never names.

import { createSeriesCounter } from "@postern/apiserver/metrics/counter-series";
import { Gauge } from "@postern/apiserver/metrics/gauge";
import type { ServerMetrics } from "@postern/apiserver/metrics/server-metrics";
import type { Clock } from "@postern/apiserver/runtime/clock";
import type { KeyEventReason } from "../features/access-keys/key-events.ts";
import type { NoticeMetrics } from "../features/notices/key-notices.ts";
import { EXPIRY_WINDOWS, type KeyCounts } from "./key-counts.ts";

type KubeconfigKind = "token" | "certificate";

/** Result for a manifest of --bootstrap-dir. `drifted`: some of its fields belong to other managers, and were left to them. */
export type ManifestState = "created" | "changed" | "unchanged" | "drifted";

/** Projects, owners of access keys, and embedded clusters have budgets. */
export type StorageScope = "projects" | "access-keys" | "clusters";

/** Memory for what is stored, in bytes. */
type StorageCounts = {
  readonly [part in "platform" | "clusters"]: { readonly usedBytes: number; readonly limitBytes: number };
} & {
  /** The part of its limit that the fullest one uses. */
  readonly fullest: { readonly [scope in "project" | "virtualcluster"]: number };
  /** Limit of the access keys of one owner. */
  readonly ownerBytes: number;
};

export type DomainMetrics = {
  /** A value that was presented as an access key was refused: why, as the condition Ready says it, `NotFound` or `Malformed`. */
  keyRefused(reason: string): void;
  kubeconfigIssued(kind: KubeconfigKind): void;
  leakReported(): void;
  keyEvent(reason: KeyEventReason): void;
  retiredValueUsed(): void;
  /** A manifest of --bootstrap-dir was applied, with this outcome. */
  manifestApplied(state: ManifestState): void;
  /** A budget for stored bytes had no room. */
  writeRefused(scope: StorageScope): void;
  /** Where scrapes get how much is stored. */
  followStorage(storage: () => StorageCounts, census: () => Promise<KeyCounts>): void;
  /** Changed files of --tls-cert-file are used by new connections, or cannot be used. */
  servingCertificateReloaded(result: "loaded" | "refused"): void;
  /** Where scrapes get the end of the serving certificate, in milliseconds since the epoch. */
  followServingCertificate(end: () => number): void;
  readonly notices: NoticeMetrics;
  /** Records of the audit log were written. */
  auditWritten(): void;
  /** Where scrapes get the numbers of keys and certificates. */
  followCensus(census: () => Promise<KeyCounts>): void;
};

export function createDomainMetrics({ registry }: Pick<ServerMetrics, "registry">, clock: Clock): DomainMetrics {
  const registers = [registry];
  const counter = <L extends string>(name: string, help: string, label: L) => {
    const made = createSeriesCounter({ name, help, labelNames: [label], registers });
    const series = new Map<string, ReturnType<typeof made.series>>();
    return (value: string): void => {
      // The label is the only one: TypeScript cannot tell that the computed name is it.
      const known = series.get(value) ?? made.series({ [label]: value } as { readonly [name in L]: string });
      series.set(value, known);
      known.inc();
    };
  };
  const total = (name: string, help: string) =>
    createSeriesCounter({ name, help, labelNames: [], registers }).series({});

  const refusals = counter(
    "postern_access_key_refusals_total",
    "Requests and token reviews with a refused access key, by reason",
    "reason",
  );
  const events = counter("postern_access_key_events_total", "Events about access keys, by reason", "reason");
  const rotations = counter(
    "postern_access_key_rotations_total",
    "Rotations of access keys, by kind: plain or compromised",
    "kind",
  );
  const kubeconfigs = counter("postern_kubeconfigs_issued_total", "Issued kubeconfigs, by kind of credential", "kind");
  const leaks = total("postern_leak_reports_total", "Reports of leaked access keys");
  const retired = total(
    "postern_retired_access_key_uses_total",
    "Requests with a value of an access key from before its rotation",
  );

  const manifests = new Gauge({
    name: "postern_bootstrap_manifests",
    help: "Manifests of --bootstrap-dir, by outcome at the start; drifted: other managers have changed fields",
    labelNames: ["state"],
    registers,
  });
  const notices = counter(
    "postern_access_key_notices_total",
    "Notices before access keys expire, by lead time",
    "lead_time",
  );
  const deliveries = counter(
    "postern_notice_webhook_deliveries_total",
    "Requests to the notice webhook, by result: delivered, failed (retried), or abandoned after the access key expired",
    "result",
  );

  const reloads = counter(
    "postern_serving_certificate_reloads_total",
    "Changes of the files of --tls-cert-file, by result: loaded, or refused, which keeps the earlier certificate",
    "result",
  );
  const gaugeServingCertificate = (end: () => number): void => {
    new Gauge({
      name: "postern_serving_certificate_expiration_timestamp_seconds",
      help: "When the serving certificate expires, in seconds since the epoch",
      registers,
      collect() {
        this.set(Math.floor(end() / 1000));
      },
    });
  };

  const refusedWrites = counter(
    "postern_storage_refused_writes_total",
    "Writes that were answered with 507, by budget: projects, access-keys or clusters",
    "scope",
  );

  let newestRecord = clock.elapsed();
  new Gauge({
    name: "postern_audit_newest_record_age_seconds",
    help: "Seconds since the newest audit record was written, or since the start",
    registers,
    collect() {
      this.set((clock.elapsed() - newestRecord) / 1000);
    },
  });
  const gaugeCensus = (census: () => Promise<KeyCounts>): void => {
    new Gauge({
      name: "postern_access_keys",
      help: "Access keys, by state (the reason of their condition Ready), type and kind of owner",
      labelNames: ["state", "type", "owner_kind"],
      registers,
      async collect() {
        const { keys } = await census();
        this.reset();
        for (const { state, type, ownerKind, count } of keys) this.set({ state, type, owner_kind: ownerKind }, count);
      },
    });
    new Gauge({
      name: "postern_access_keys_expiring",
      help: "Access keys that work now and expire within the time",
      labelNames: ["within"],
      registers,
      async collect() {
        const { expiring } = await census();
        EXPIRY_WINDOWS.forEach(({ within }, at) => {
          this.set({ within }, expiring[at] ?? 0);
        });
      },
    });
    new Gauge({
      name: "postern_live_certificates",
      help: "Client certificates that are valid",
      registers,
      async collect() {
        this.set((await census()).liveCertificates);
      },
    });
  };

  const gaugeStorage = (storage: () => StorageCounts, census: () => Promise<KeyCounts>): void => {
    new Gauge({
      name: "postern_storage_fullest_ratio",
      help: "Part of its limit that the fullest owner of stored objects uses, by kind of owner",
      labelNames: ["owner_kind"],
      registers,
      async collect() {
        const { ownedBytes } = await census();
        const { fullest, ownerBytes } = storage();
        for (const [kind, bytes] of Object.entries(ownedBytes)) this.set({ owner_kind: kind }, bytes / ownerBytes);
        for (const [kind, part] of Object.entries(fullest)) this.set({ owner_kind: kind }, part);
      },
    });
    const gauge = (name: string, help: string, read: (part: StorageCounts["platform"]) => number): void => {
      new Gauge({
        name,
        help,
        labelNames: ["part"],
        registers,
        collect() {
          const { platform, clusters } = storage();
          this.set({ part: "platform" }, read(platform));
          this.set({ part: "clusters" }, read(clusters));
        },
      });
    };
    gauge(
      "postern_storage_memory_bytes",
      "Estimated memory for stored objects, of the platform and of all embedded clusters",
      ({ usedBytes }) => usedBytes,
    );
    gauge(
      "postern_storage_memory_limit_bytes",
      "Most memory for stored objects, of the platform and of all embedded clusters",
      ({ limitBytes }) => limitBytes,
    );
  };

  return {
    writeRefused: refusedWrites,
    followStorage: gaugeStorage,
    servingCertificateReloaded: reloads,
    followServingCertificate: gaugeServingCertificate,
    keyRefused: refusals,
    kubeconfigIssued: kubeconfigs,
    leakReported: () => leaks.inc(),
    keyEvent(reason) {
      events(reason);
      if (reason === "Rotated") rotations("plain");
      if (reason === "Compromised") rotations("compromised");
    },
    retiredValueUsed: () => retired.inc(),
    manifestApplied: (state) => manifests.inc({ state }),
    notices: { noticed: notices, delivery: deliveries },
    auditWritten() {
      newestRecord = clock.elapsed();
    },
    followCensus: gaugeCensus,
  };
}
