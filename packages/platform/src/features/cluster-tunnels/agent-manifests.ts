// The manifests of an agent, as `/join/<value>` serves them. The chart deploy/charts/postern-agent renders the same.

import { BUILD_INFO } from "@postern/apimachinery/build-info";

export type AgentManifestOptions = {
  /** URL of the platform. */
  readonly server: string;
  readonly joinValue: string;
  /** PEM; absent for the public CAs. */
  readonly certificateAuthority?: string | undefined;
  readonly image: string;
};

export const AGENT_NAMESPACE = "postern-agent";
const NAME = "postern-agent";
export const AGENT_IMAGE = `postern:${BUILD_INFO.version}`;
const REPLICAS = 2;
const PROBE_PORT = 8080;
/** Where the agent looks for a token for the platform. */
const IDENTITY_PATH = "/var/run/secrets/postern";
const TOKEN_SECONDS = 3_600;

/** In the order in which they are applied. */
export function agentManifests(options: AgentManifestOptions): readonly object[] {
  return [
    namespace,
    serviceAccount,
    clusterRole,
    clusterRoleBinding,
    role,
    roleBinding,
    secret(options),
    deployment(options),
  ];
}

/** Not managed-by, which bindings have that platforms make in clusters, and correct. */
const labels = { "app.kubernetes.io/name": NAME, "app.kubernetes.io/part-of": "postern" };
const inNamespace = { name: NAME, namespace: AGENT_NAMESPACE, labels };
const RBAC = "rbac.authorization.k8s.io";
const subjects = [{ kind: "ServiceAccount", name: NAME, namespace: AGENT_NAMESPACE }];

const namespace = {
  apiVersion: "v1",
  kind: "Namespace",
  metadata: { name: AGENT_NAMESPACE, labels: { ...labels, "pod-security.kubernetes.io/enforce": "restricted" } },
};

const serviceAccount = { apiVersion: "v1", kind: "ServiceAccount", metadata: inNamespace };

/** The C library gives buffers of forwarded bytes back when they are free, instead of keeping room for the largest number of them (ADR 299). */
export const AGENT_ALLOCATOR = { MALLOC_MMAP_THRESHOLD_: "16384", MALLOC_TRIM_THRESHOLD_: "65536" } as const;

/** The rules for the platform's own requests, which it sends as the agent; requests of users carry their names. */
export const AGENT_RULES = [
  // Requests of users, by their own names.
  { apiGroups: [""], resources: ["users", "groups"], verbs: ["impersonate"] },
  // Which cluster this is, and whether it is ready.
  { apiGroups: [""], resources: ["namespaces"], verbs: ["get"] },
  { nonResourceURLs: ["/readyz", "/healthz", "/version"], verbs: ["get"] },
  // The keys that its tokens for the platform are signed with.
  { nonResourceURLs: ["/openid/v1/jwks"], verbs: ["get"] },
  // Spaces.
  { apiGroups: [""], resources: ["namespaces"], verbs: ["create", "update", "patch", "delete"] },
  {
    apiGroups: [RBAC],
    resources: ["rolebindings", "clusterrolebindings"],
    verbs: ["get", "list", "create", "update", "patch", "delete"],
  },
  { apiGroups: [RBAC], resources: ["clusterroles"], verbs: ["bind"] },
  // Client certificates.
  {
    apiGroups: ["certificates.k8s.io"],
    resources: ["certificatesigningrequests"],
    verbs: ["create", "get", "delete"],
  },
  { apiGroups: ["certificates.k8s.io"], resources: ["certificatesigningrequests/approval"], verbs: ["update"] },
  {
    apiGroups: ["certificates.k8s.io"],
    resources: ["signers"],
    resourceNames: ["kubernetes.io/kube-apiserver-client"],
    verbs: ["approve"],
  },
] as const;

const clusterRole = {
  apiVersion: `${RBAC}/v1`,
  kind: "ClusterRole",
  metadata: { name: NAME, labels },
  rules: AGENT_RULES,
};

const clusterRoleBinding = {
  apiVersion: `${RBAC}/v1`,
  kind: "ClusterRoleBinding",
  metadata: { name: NAME, labels },
  roleRef: { apiGroup: RBAC, kind: "ClusterRole", name: NAME },
  subjects,
};

/** The agent keeps its key here, and reads the one that another replica has replaced. */
const role = {
  apiVersion: `${RBAC}/v1`,
  kind: "Role",
  metadata: inNamespace,
  rules: [{ apiGroups: [""], resources: ["secrets"], resourceNames: [NAME], verbs: ["get", "update"] }],
};

const roleBinding = {
  apiVersion: `${RBAC}/v1`,
  kind: "RoleBinding",
  metadata: inNamespace,
  roleRef: { apiGroup: RBAC, kind: "Role", name: NAME },
  subjects,
};

const secret = ({ server, joinValue, certificateAuthority }: AgentManifestOptions): object => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: inNamespace,
  stringData: {
    server,
    join: joinValue,
    ...(certificateAuthority === undefined ? {} : { "ca.crt": certificateAuthority }),
  },
});

const deployment = ({ image, server }: AgentManifestOptions): object => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: inNamespace,
  spec: {
    replicas: REPLICAS,
    selector: { matchLabels: { "app.kubernetes.io/name": NAME } },
    template: {
      metadata: { labels },
      spec: {
        serviceAccountName: NAME,
        terminationGracePeriodSeconds: 40,
        securityContext: { runAsNonRoot: true, runAsUser: 65532, seccompProfile: { type: "RuntimeDefault" } },
        affinity: {
          podAntiAffinity: {
            preferredDuringSchedulingIgnoredDuringExecution: [
              {
                weight: 1,
                podAffinityTerm: {
                  topologyKey: "kubernetes.io/hostname",
                  labelSelector: { matchLabels: { "app.kubernetes.io/name": NAME } },
                },
              },
            ],
          },
        },
        volumes: [
          {
            name: "identity",
            // For the platform alone: no other server takes it.
            projected: {
              sources: [{ serviceAccountToken: { path: "token", audience: server, expirationSeconds: TOKEN_SECONDS } }],
            },
          },
        ],
        containers: [
          {
            name: "agent",
            image,
            args: ["agent", "--probe-port", String(PROBE_PORT)],
            env: [
              { name: "POD_NAME", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
              ...Object.entries(AGENT_ALLOCATOR).map(([name, value]) => ({ name, value })),
            ],
            volumeMounts: [{ name: "identity", mountPath: IDENTITY_PATH, readOnly: true }],
            ports: [{ name: "probes", containerPort: PROBE_PORT }],
            livenessProbe: { httpGet: { path: "/healthz", port: "probes" }, periodSeconds: 10 },
            readinessProbe: { httpGet: { path: "/readyz", port: "probes" }, periodSeconds: 5 },
            resources: { requests: { cpu: "20m", memory: "64Mi" }, limits: { memory: "128Mi" } },
            securityContext: {
              allowPrivilegeEscalation: false,
              readOnlyRootFilesystem: true,
              capabilities: { drop: ["ALL"] },
            },
          },
        ],
      },
    },
  },
});
