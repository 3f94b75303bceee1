// The metrics of one virtual cluster, with the names of kube-apiserver: what it stores, and the requests that it has answered.
// Source: k8s.io/apiserver/pkg/endpoints/metrics/metrics.go, k8s.io/apiserver/pkg/storage/etcd3/metrics/metrics.go

import type { StoredAmount } from "@postern/apiserver/cache/stored-usage";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { ObserveHealth } from "@postern/apiserver/health/health-handler";
import { HEALTH_FAMILIES, statusOf } from "@postern/apiserver/metrics/health-metrics";
import { type RequestLabels, requestLabelsOf } from "@postern/apiserver/metrics/request-labels";
import { isStored } from "@postern/apiserver/registry/resource-definition";
import type { ResourceRegistry } from "@postern/apiserver/registry/resource-registry";
import type { VersionInfo } from "@postern/apiserver/version/version-info";

export const METRICS_PATH = "/metrics";
/** Source: the text format of Prometheus, version 0.0.4 */
export const METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

export type ClusterMetrics = {
  /** A request was answered with a status. */
  answered(context: RequestContext, isKnown: boolean, code: number): void;
  /** Takes the results of health checks. */
  readonly health: ObserveHealth;
  /** The text of `/metrics`. */
  text(): string;
};

export type ClusterMetricsDeps = {
  readonly version: VersionInfo;
  readonly registry: () => Pick<ResourceRegistry, "resources">;
  /** All that the cluster stores. */
  readonly stored: () => StoredAmount;
};

/** Beyond this many combinations of labels, further requests are counted together: clusters are many, and clients choose some of the labels. */
const MAX_SERIES = 300;
const OTHER = "other";

export function createClusterMetrics({ version, registry, stored }: ClusterMetricsDeps): ClusterMetrics {
  const counts = new Map<string, { readonly labels: CountedLabels; count: number }>();
  const [results, totals] = [new Map<string, number>(), new Map<string, number>()];
  const count = (labels: CountedLabels, key = keyOf(labels)): void => {
    const known = counts.get(key);
    if (known === undefined) counts.set(key, { labels, count: 1 });
    else known.count++;
  };
  return {
    health(name, type, isHealthy) {
      results.set(labelTexts({ name, type }), isHealthy ? 1 : 0);
      const counted = labelTexts({ name, status: statusOf(isHealthy), type });
      totals.set(counted, (totals.get(counted) ?? 0) + 1);
    },
    answered({ request, info }, isKnown, code) {
      const labels = { ...requestLabelsOf(request, info, isKnown), code: String(code) };
      const key = keyOf(labels);
      if (counts.size < MAX_SERIES || counts.has(key)) count(labels, key);
      else count(inOther(labels));
    },
    text() {
      const resources = registry().resources.filter(({ definition }) => isStored(definition));
      const { major, minor, gitVersion, gitCommit, gitTreeState, buildDate, goVersion, compiler, platform } = version;
      const build = { major, minor, git_version: gitVersion, git_commit: gitCommit, git_tree_state: gitTreeState };
      const made = { ...build, build_date: buildDate, go_version: goVersion, compiler, platform };
      return [
        family("kubernetes_build_info", "gauge", "The version that this server follows.", [line(made, 1)]),
        family(
          "apiserver_resource_objects",
          "gauge",
          "Number of stored objects, by resource.",
          resources.map(({ definition: { group, plural }, view }) => line({ group, resource: plural }, view.size)),
        ),
        family("apiserver_storage_size_bytes", "gauge", "Bytes that the objects of this cluster take in the store.", [
          line({ storage_cluster_id: "etcd-0" }, stored().bytes),
        ]),
        family(
          "apiserver_request_total",
          "counter",
          `Requests answered since the cluster was started here; of more than ${MAX_SERIES} combinations of labels, the others together.`,
          [...counts.values()].map(({ labels, count }) => line(labels, count)),
        ),
        ...HEALTH_FAMILIES.map(([name, type, help]) =>
          family(
            name,
            type,
            help,
            [...(type === "gauge" ? results : totals)].map(([labels, value]) => `{${labels}} ${value}`),
          ),
        ),
      ].join("");
    },
  };
}

type CountedLabels = RequestLabels & { readonly code: string };

const inOther = ({ verb, component, code }: CountedLabels): CountedLabels => ({
  verb,
  dry_run: "",
  group: "",
  version: "",
  resource: OTHER,
  subresource: "",
  scope: "",
  component,
  code,
});

/** All that tells requests apart. */
const keyOf = ({ verb, dry_run, group, version, resource, subresource, scope, code }: CountedLabels): string =>
  `${verb} ${dry_run} ${group} ${version} ${resource} ${subresource} ${scope} ${code}`;

const labelTexts = (labels: { readonly [name: string]: string }): string =>
  Object.entries(labels)
    .map(([name, text]) => labelText(name, text))
    .join(",");

const line = (labels: { readonly [name: string]: string }, value: number): string => `{${labelTexts(labels)}} ${value}`;

const labelText = (name: string, text: string): string =>
  `${name}="${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n")}"`;

function family(name: string, type: string, help: string, lines: readonly string[]): string {
  const values = lines.map((each) => `${name}${each}\n`).join("");
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${values}`;
}
