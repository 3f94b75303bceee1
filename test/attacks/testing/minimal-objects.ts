// One sound object of each kind, so that a single wrong value in it gets as far as it can.

import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { parseAllDocuments } from "yaml";
import { CLUSTER_OBJECTS } from "./cluster-objects.ts";

/** Of a subject "alice". */
const CSR = `-----BEGIN CERTIFICATE REQUEST-----
MIHaMIGBAgEAMB8xDTALBgNVBAoMBGRldnMxDjAMBgNVBAMMBWFsaWNlMFkwEwYH
KoZIzj0CAQYIKoZIzj0DAQcDQgAEDD/1q7hJ5WIRaXhqyaTQpcrmJROpzaP751Vm
tcYBMhknVMKh9U6J/d8PKe8wmqqXTU87VkkHbZAL+NJqXGauY6AAMAoGCCqGSM49
BAMCA0gAMEUCIQC1RTJsNkdY9mqSCFgZ2xAOZyPuix+e9JXoe6pFxuw3bgIgCUiL
8nqrPSv9tCP2kBVpiWe6SnTuLHXbhkiaQzZkzV8=
-----END CERTIFICATE REQUEST-----
`;

const RBAC = "rbac.authorization.k8s.io";
/** In the place of the namespace that the object is sent to. */
const NAMESPACE = "{namespace}";
const rules = [{ verbs: ["get"], apiGroups: [""], resources: ["secrets"] }];
const binding = {
  roleRef: { apiGroup: RBAC, kind: "ClusterRole", name: "view" },
  subjects: [{ apiGroup: RBAC, kind: "User", name: "jane" }],
};
const access = { resourceAttributes: { verb: "get", resource: "secrets", namespace: NAMESPACE, name: "x" } };
const instance = { spec: { clusterRef: { cluster: "embedded" }, owner: { user: "admin" }, template: {} } };

const BY_KIND: { readonly [kind: string]: object } = {
  ...CLUSTER_OBJECTS,
  OwnedAccessKey: {
    spec: {
      displayName: "x",
      scope: {
        roles: [{ role: "vcluster", projects: ["default"], virtualClusters: [] }],
        projects: [{ project: "default" }],
        rules: [{ verbs: ["get"], apiGroups: [""], resources: [{ resource: "secrets" }] }],
      },
    },
  },
  AccessKey: {
    spec: { user: "admin", key: randomBytes(32).toString("base64url"), scope: { projects: [{ project: "default" }] } },
  },
  User: { spec: { email: "a@example.com" } },
  Team: { spec: { users: ["admin"], displayName: "x" } },
  Project: {
    spec: {
      members: [{ kind: "User", name: "admin", clusterRole: "postern:project-user" }],
      allowedClusters: [{ name: "*" }],
    },
  },
  Cluster: { spec: { local: true } },
  VirtualClusterInstance: instance,
  ClusterAccessPolicy: {
    spec: { requesters: { users: ["admin"] }, maxDurationSeconds: 60, targets: [{ kind: "Cluster", names: ["x"] }] },
  },
  AccessPolicy: {
    spec: {
      requesters: { expression: "user.isBot" },
      maxDurationSeconds: 60,
      targets: [{ kind: "Project", roles: ["x"] }],
    },
  },
  KubeconfigGenerator: { spec: { selector: { matchLabels: { a: "b" } }, secretRef: { name: "fleet" } } },
  AccessRequest: { spec: { policy: { name: "x" }, target: { project: "default" }, role: "x" } },
  AccessApproval: { spec: { decision: "Approve" } },
  VirtualClusterTemplate: { spec: { parameters: [{ variable: "team" }], template: {} } },
  SpaceInstance: instance,
  Secret: { data: { a: "MQ==" }, type: "Opaque" },
  ConfigMap: { data: { a: "1" } },
  Event: {
    involvedObject: { kind: "Secret", namespace: NAMESPACE, name: "x" },
    regarding: { kind: "Secret", namespace: NAMESPACE, name: "x" },
    reason: "Tested",
  },
  Lease: { spec: { holderIdentity: "a", leaseDurationSeconds: 5 } },
  Role: { rules },
  ClusterRole: { rules },
  RoleBinding: binding,
  ClusterRoleBinding: binding,
  SubjectAccessReview: { spec: { user: "jane", ...access } },
  LocalSubjectAccessReview: { spec: { user: "jane", ...access } },
  SelfSubjectAccessReview: { spec: access },
  SelfSubjectRulesReview: { spec: { namespace: NAMESPACE } },
  TokenReview: { spec: { token: "x" } },
  TokenRequest: { spec: { expirationSeconds: 600 } },
  CertificateSigningRequest: {
    spec: {
      request: Buffer.from(CSR).toString("base64"),
      signerName: "kubernetes.io/kube-apiserver-client",
      usages: ["client auth"],
    },
  },
  CustomResourceDefinition: {
    metadata: { name: "fuzzes.example.com" },
    spec: {
      group: "example.com",
      scope: "Namespaced",
      names: { plural: "fuzzes", singular: "fuzz", kind: "Fuzz", listKind: "FuzzList", shortNames: ["fz"] },
      versions: [
        {
          name: "v1",
          served: true,
          storage: true,
          schema: {
            openAPIV3Schema: {
              type: "object",
              properties: {
                spec: {
                  type: "object",
                  properties: {
                    size: { type: "integer", minimum: 1, default: 3 },
                    tags: { type: "array", items: { type: "string" } },
                  },
                  "x-kubernetes-validations": [{ rule: "self.size < 9", message: "too large" }],
                },
              },
            },
          },
          subresources: { status: {} },
          additionalPrinterColumns: [{ name: "Size", type: "integer", jsonPath: ".spec.size" }],
        },
      ],
    },
  },
  Scale: { spec: { replicas: 1 } },
  Widget: {
    spec: {
      size: 7,
      replicas: 1,
      mode: "B",
      free: { a: 1 },
      labels: { a: "b" },
      ports: [{ port: 80, protocol: "TCP", name: "http" }],
      atom: { a: "x" },
      ios: 5,
      nul: null,
    },
    status: { replicas: 1, conditions: [{ type: "Ready", status: "True" }] },
  },
};

/** Of kinds that are not above: each has a manifest in `examples/`. */
const examples = new URL("../../../examples/", import.meta.url);
const exampleOf: ReadonlyMap<string, object> = new Map(
  readdirSync(examples)
    .filter((name) => name.endsWith(".yaml"))
    .flatMap((name) => parseAllDocuments(readFileSync(new URL(name, examples), "utf8")))
    .map((document) => document.toJS())
    .filter((manifest) => manifest?.kind !== undefined && !(manifest.kind in BY_KIND))
    // Whom an example names is made beside it; here there is the administrator.
    .map(({ kind, spec }) => [kind, { spec: spec?.user === undefined ? spec : { ...spec, user: "admin" } }]),
);

/** Additional fields that the newer of the two APIs of events asks for. */
const NEW_EVENT = {
  eventTime: "2026-01-01T00:00:00.000000Z",
  type: "Normal",
  action: "Testing",
  reportingController: "example.com/tester",
  reportingInstance: "tester-0",
};

/** Their metadata must be empty. */
const isUnnamed = (kind: string): boolean => kind.endsWith("Review");

export const minimalObject = (apiVersion: string, kind: string, name: string, namespace: string): object =>
  JSON.parse(
    JSON.stringify({
      apiVersion,
      kind,
      metadata: name === "" || isUnnamed(kind) ? {} : { name },
      ...(BY_KIND[kind] ?? exampleOf.get(kind)),
      ...(apiVersion === "events.k8s.io/v1" && kind === "Event" && NEW_EVENT),
    }).replaceAll(NAMESPACE, namespace),
  );
