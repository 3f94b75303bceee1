// Runs the suite of every resource on the kinds of a cluster.

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { asGoWrites } from "@postern/apimachinery/protobuf/protobuf-object";
import { isStored, type ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import { createTestContext } from "@postern/apiserver/testing/test-context";
import { describe, expect, it } from "vitest";
import { describeResource, type ResourceSuiteOptions } from "../testing/resource-suite.ts";
import { openSuiteSurface } from "../testing/suite-surface.ts";
import { clusterKinds } from "./cluster-kinds.ts";

const definitions = clusterKinds(
  {
    ready: () => undefined,
    chooseAddress: () => "10.96.0.9",
    refuseAddress: () => undefined,
    choosePort: () => 30_000,
    refusePort: () => undefined,
  },
  {
    pods: () => {
      throw new Error("no pod is assigned here");
    },
    budgets: () => {
      throw new Error("no pod is evicted here");
    },
    clock: { now: () => 0, elapsed: () => 0 },
  },
  {
    authorizer: { authorize: () => ({ verdict: "allow", reason: "" }) },
    findNamespace: () => Promise.resolve(undefined),
  },
  // Actions and ComponentStatuses are not stored.
).filter(isStored);

const named =
  (rest: JsonObject = {}) =>
  (name: string) => ({ metadata: { name }, ...rest });
const pod = (restartPolicy = "Always") => ({ containers: [{ name: "c", image: "i:1" }], restartPolicy });
const template = (restartPolicy?: string) => ({ metadata: { labels: { app: "a" } }, spec: pod(restartPolicy) });
const devices = { devices: { requests: [{ name: "r", exactly: { deviceClassName: "c" } }] } };
const selector = { matchLabels: { app: "a" } };
const relabelled = { metadata: { labels: { a: "b" } } };
const uncounted = { change: relabelled, changesGeneration: false };

const CASES: { readonly [plural: string]: Omit<ResourceSuiteOptions, "open"> } = {
  nodes: { valid: named({ spec: { providerID: "a://b" } }), ...uncounted },
  services: { valid: named({ spec: { ports: [{ port: 80 }] } }), change: { spec: { selector: { app: "b" } } } },
  endpoints: { valid: named({ subsets: [{ addresses: [{ ip: "10.0.0.1" }] }] }), ...uncounted },
  endpointslices: {
    valid: named({ addressType: "IPv4", endpoints: [{ addresses: ["10.0.0.1"] }] }),
    change: { endpoints: [{ addresses: ["10.0.0.2"] }] },
  },
  resourcequotas: {
    valid: named({ spec: { hard: { "count/secrets": "9" } } }),
    change: { spec: { hard: { pods: "1" } } },
  },
  limitranges: {
    valid: named({ spec: { limits: [{ type: "Pod", max: { cpu: "1" } }] } }),
    ...uncounted,
  },
  ingresses: {
    valid: named({ spec: { defaultBackend: { service: { name: "s", port: { number: 80 } } } } }),
    change: { spec: { ingressClassName: "c" } },
  },
  ingressclasses: { valid: named({ spec: { controller: "example.com/c" } }), ...uncounted },
  networkpolicies: { valid: named({ spec: { podSelector: {} } }), change: { spec: { policyTypes: ["Egress"] } } },
  poddisruptionbudgets: {
    valid: named({ spec: { minAvailable: 1, selector } }),
    change: { spec: { minAvailable: 2 } },
  },
  priorityclasses: { valid: named({ value: 5 }), change: { description: "d" } },
  csidrivers: { valid: named({ spec: {} }), change: { spec: { podInfoOnMount: true } }, changesGeneration: false },
  csinodes: {
    valid: named({ spec: { drivers: [{ name: "a.example.com", nodeID: "n", topologyKeys: ["zone"] }] } }),
    ...uncounted,
  },
  csistoragecapacities: { valid: named({ storageClassName: "fast", capacity: "1Gi" }), ...uncounted },
  volumeattachments: {
    valid: named({ spec: { attacher: "a.example.com", source: { persistentVolumeName: "p" }, nodeName: "n" } }),
    ...uncounted,
  },
  volumeattributesclasses: { valid: named({ driverName: "a.example.com", parameters: { iops: "5" } }), ...uncounted },
  servicecidrs: { valid: named({ spec: { cidrs: ["10.1.0.0/16"] } }), ...uncounted },
  ipaddresses: { valid: named({ spec: { parentRef: { resource: "services", name: "s" } } }), ...uncounted },
  flowschemas: {
    valid: named({ spec: { priorityLevelConfiguration: { name: "global-default" } } }),
    change: { spec: { matchingPrecedence: 9 } },
  },
  prioritylevelconfigurations: {
    valid: named({ spec: { type: "Limited", limited: { limitResponse: { type: "Reject" } } } }),
    change: { spec: { limited: { nominalConcurrencyShares: 9 } } },
  },
  runtimeclasses: { valid: named({ handler: "gvisor" }), ...uncounted },
  deviceclasses: { valid: named({ spec: {} }), change: { spec: { extendedResourceName: "example.com/gpu" } } },
  resourceslices: {
    valid: named({ spec: { driver: "d", pool: { name: "p", resourceSliceCount: 1 }, nodeName: "n" } }),
    change: { spec: { pool: { generation: 2 } } },
  },
  resourceclaims: { valid: named({ spec: devices }), ...uncounted },
  resourceclaimtemplates: { valid: named({ spec: { spec: devices } }), ...uncounted },
  apiservices: {
    valid: named({ spec: { group: "example.com", version: "v1", groupPriorityMinimum: 5, versionPriority: 5 } }),
    change: { spec: { versionPriority: 6 } },
    changesGeneration: false,
  },
  replicationcontrollers: {
    valid: named({ spec: { template: template() } }),
    change: { spec: { replicas: 2 } },
  },
  storageclasses: { valid: named({ provisioner: "p" }), ...uncounted },
  pods: { valid: named({ spec: pod() }), ...uncounted },
  podtemplates: { valid: named({ template: template() }), ...uncounted },
  persistentvolumeclaims: {
    valid: named({ spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } } }),
    ...uncounted,
  },
  persistentvolumes: {
    valid: named({
      spec: { capacity: { storage: "1Gi" }, accessModes: ["ReadWriteOnce"], hostPath: { path: "/a" } },
    }),
    ...uncounted,
  },
  deployments: { valid: named({ spec: { selector, template: template() } }), change: { spec: { replicas: 2 } } },
  replicasets: { valid: named({ spec: { selector, template: template() } }), change: { spec: { replicas: 2 } } },
  statefulsets: { valid: named({ spec: { selector, template: template() } }), change: { spec: { replicas: 2 } } },
  daemonsets: { valid: named({ spec: { selector, template: template() } }), change: { spec: { minReadySeconds: 2 } } },
  controllerrevisions: { valid: named({ revision: 1, data: { a: 1 } }), ...uncounted },
  jobs: { valid: named({ spec: { template: template("Never") } }), change: { spec: { suspend: true } } },
  cronjobs: {
    valid: named({ spec: { schedule: "* * * * *", jobTemplate: { spec: { template: template("Never") } } } }),
    change: { spec: { suspend: true } },
  },
  horizontalpodautoscalers: {
    valid: named({
      spec: { maxReplicas: 2, scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "d" } },
    }),
    change: { spec: { maxReplicas: 3 } },
  },
};

describe("the kinds of a cluster", () => {
  it("have a case each", () => {
    // A kind of two versions has one.
    expect(new Set(Object.keys(CASES))).toEqual(new Set(definitions.map(({ plural }) => plural)));
  });
});

/** The suite chooses names, which an IPAddress has from its address. */
const withAnyNames = (definition: ResourceDefinition): ResourceDefinition => ({
  ...definition,
  strategy: { ...definition.strategy, validateName: () => [] },
});

/** The suite chooses names, which an APIService has from its specification. */
const withAnyName = (definition: ResourceDefinition): ResourceDefinition => {
  const { strategy } = definition;
  const unnamed = (faults: any) => faults.filter(({ field }: any) => field !== "metadata.name");
  const validate = (object: any, context: any) => unnamed(strategy?.validate?.(object, context));
  const validateUpdate = (object: any, old: any, context: any) =>
    unnamed(strategy?.validateUpdate?.(object, old, context));
  return { ...definition, strategy: { ...strategy, validate, validateUpdate } };
};

for (const each of definitions) {
  const named = each.plural === "ipaddresses" ? withAnyNames(each) : each;
  const definition = each.plural === "apiservices" ? withAnyName(each) : named;
  const options = CASES[definition.plural];
  if (options !== undefined) describeResource(definition, { ...options, open: () => openSuiteSurface([definition]) });
}

it.each(["deployments", "replicasets", "statefulsets", "replicationcontrollers"])(
  "%s refuse a negative number of replicas once, in the words of upstream",
  async (plural) => {
    const [definition = expect.unreachable()] = definitions.filter((each) => each.plural === plural);
    await using surface = await openSuiteSurface([definition]);
    const { group, version } = definition;
    const base = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
    const valid: any = CASES[plural]?.valid("a");
    const body = { ...valid, spec: { ...valid.spec, replicas: -1 } };
    const headers = { "content-type": "application/json" };
    const url = `${base}/namespaces/default/${plural}`;
    await expect(surface.route(createTestContext({ method: "POST", url, headers, body }))).rejects.toMatchObject({
      code: 422,
      message: expect.stringMatching(
        /is invalid: spec\.replicas: Invalid value: -1: must be greater than or equal to 0$/,
      ),
    });
  },
);

it.each(definitions.map((definition) => [definition.plural, definition] as const))(
  "opens a watch of %s for GET alone, whatever verb the path names",
  async (plural, definition) => {
    await using surface = await openSuiteSurface([definition]);
    const { group, version, namespaced } = definition;
    const root = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
    const paths = [`${root}/watch/${plural}`, ...(namespaced ? [`${root}/watch/namespaces/default/${plural}`] : [])];
    const headers = { "content-type": "application/json" };
    for (const url of paths) {
      for (const method of ["POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"]) {
        const context = createTestContext({ method, url, headers, body: {} });
        await expect((async () => surface.route(context))()).rejects.toMatchObject({ code: 405 });
      }
    }
  },
);

const NAMES: { readonly [plural: string]: string } = { apiservices: "v1.example.com", ipaddresses: "10.0.0.1" };
it.each(definitions.map((definition) => [`${definition.plural} ${definition.version}`, definition] as const))(
  "answers %s as Go writes them: with all members that clients require",
  async (_, definition) => {
    await using surface = await openSuiteSurface([definition]);
    const { group, version, namespaced, plural } = definition;
    const root = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
    const url = `${root}${namespaced ? "/namespaces/default" : ""}/${plural}`;
    const headers = { "content-type": "application/json" };
    const body = CASES[plural]?.valid(NAMES[plural] ?? "a");
    const response = await surface.route(createTestContext({ method: "POST", url, headers, body }));
    const object = JSON.parse(Buffer.from((response.body as any).bytes).toString());
    expect(object).toEqual(asGoWrites(object));
  },
);

it("tells kubectl that strategies and volumes keep no member of another kind of them", () => {
  const { schema } = definitions.find(({ plural }) => plural === "deployments") ?? expect.unreachable();
  const spec = schema.properties?.["spec"]?.properties;
  const volumes = spec?.["template"]?.properties?.["spec"]?.properties?.["volumes"];
  expect(spec?.["strategy"]?.["x-kubernetes-patch-strategy"]).toBe("retainKeys");
  expect(volumes?.["x-kubernetes-patch-strategy"]).toBe("merge,retainKeys");
});
