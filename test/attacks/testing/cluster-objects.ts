// One sound object of each kind that charts install, by kind: what has no kinds of ours in it.

const labels = { app: "fuzz" };
const selector = { matchLabels: labels };
const template = {
  metadata: { labels },
  spec: {
    containers: [
      {
        name: "main",
        image: "nginx:1",
        ports: [{ containerPort: 80, name: "http" }],
        env: [{ name: "A", value: "1" }],
        resources: { requests: { cpu: "10m" }, limits: { memory: "64Mi" } },
        volumeMounts: [{ name: "data", mountPath: "/data" }],
      },
    ],
    volumes: [{ name: "data", emptyDir: {} }],
  },
};
const job = { template: { ...template, spec: { ...template.spec, restartPolicy: "Never" } } };
const devices = { requests: [{ name: "gpu", exactly: { deviceClassName: "fuzz", count: 1 } }] };
const claim = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } };

export const CLUSTER_OBJECTS: { readonly [kind: string]: object } = {
  ValidatingAdmissionPolicy: {
    spec: {
      matchConstraints: {
        resourceRules: [
          { apiGroups: ["fuzz.example.com"], apiVersions: ["v1"], operations: ["CREATE"], resources: ["*"] },
        ],
      },
      variables: [{ name: "size", expression: "1" }],
      validations: [{ expression: "variables.size > 0", message: "too small" }],
      auditAnnotations: [{ key: "size", valueExpression: "'1'" }],
    },
  },
  ValidatingAdmissionPolicyBinding: { spec: { policyName: "fuzz", validationActions: ["Deny"] } },
  MutatingAdmissionPolicy: {
    spec: {
      matchConstraints: {
        resourceRules: [
          { apiGroups: ["fuzz.example.com"], apiVersions: ["v1"], operations: ["CREATE"], resources: ["*"] },
        ],
      },
      variables: [{ name: "size", expression: "1" }],
      mutations: [
        {
          patchType: "ApplyConfiguration",
          applyConfiguration: {
            expression: "Object{metadata: Object.metadata{labels: {'size': string(variables.size)}}}",
          },
        },
        { patchType: "JSONPatch", jsonPatch: { expression: "[JSONPatch{op: 'add', path: '/data', value: {}}]" } },
      ],
      reinvocationPolicy: "IfNeeded",
    },
  },
  MutatingAdmissionPolicyBinding: { spec: { policyName: "fuzz" } },
  Pod: { spec: template.spec },
  PodTemplate: { template },
  FlowSchema: {
    spec: {
      priorityLevelConfiguration: { name: "fuzz" },
      matchingPrecedence: 1_000,
      rules: [
        {
          subjects: [{ kind: "Group", group: { name: "fuzz" } }],
          resourceRules: [{ verbs: ["get"], apiGroups: [""], resources: ["pods"], namespaces: ["*"] }],
        },
      ],
    },
  },
  PriorityLevelConfiguration: {
    spec: { type: "Limited", limited: { nominalConcurrencyShares: 1, limitResponse: { type: "Reject" } } },
  },
  // Its name is the address.
  IPAddress: {
    metadata: { name: "10.9.8.7" },
    spec: { parentRef: { group: "", resource: "services", namespace: "default", name: "fuzz" } },
  },
  ServiceCIDR: { spec: { cidrs: ["10.9.0.0/16"] } },
  CSIStorageCapacity: { storageClassName: "fuzz", capacity: "1Gi" },
  VolumeAttachment: {
    spec: { attacher: "fuzz.example.com", source: { persistentVolumeName: "fuzz" }, nodeName: "fuzz" },
  },
  VolumeAttributesClass: { driverName: "fuzz.example.com", parameters: { speed: "1" } },
  ReplicationController: { spec: { replicas: 1, selector: selector.matchLabels, template } },
  APIService: {
    metadata: { name: "v1.fuzz.example.com" },
    spec: { group: "fuzz.example.com", version: "v1", groupPriorityMinimum: 100, versionPriority: 10 },
  },
  RuntimeClass: { handler: "fuzz" },
  DeviceClass: { spec: { selectors: [{ cel: { expression: "device.driver == 'fuzz.example.com'" } }] } },
  ResourceClaim: { spec: { devices } },
  ResourceClaimTemplate: { spec: { metadata: { labels }, spec: { devices } } },
  ResourceSlice: {
    spec: {
      driver: "fuzz.example.com",
      pool: { name: "fuzz", generation: 1, resourceSliceCount: 1 },
      nodeName: "fuzz",
      devices: [
        {
          name: "fuzz",
          attributes: { model: { string: "a" } },
          capacity: { memory: { value: "1Gi" } },
          taints: [{ key: "fuzz", effect: "NoSchedule" }],
        },
      ],
    },
  },
  Node: { spec: { taints: [{ key: "fuzz", effect: "NoSchedule" }] } },
  Binding: { target: { kind: "Node", name: "fuzz" } },
  CSIDriver: { spec: { attachRequired: false } },
  Deployment: { spec: { replicas: 1, selector, template } },
  ReplicaSet: { spec: { replicas: 1, selector, template } },
  DaemonSet: { spec: { selector, template } },
  StatefulSet: {
    spec: {
      replicas: 1,
      serviceName: "fuzz",
      selector,
      template,
      volumeClaimTemplates: [{ metadata: { name: "data" }, spec: claim }],
    },
  },
  ControllerRevision: { revision: 1, data: { a: 1 } },
  Job: { spec: job },
  CronJob: { spec: { schedule: "*/5 * * * *", jobTemplate: { spec: job } } },
  HorizontalPodAutoscaler: {
    spec: {
      minReplicas: 1,
      maxReplicas: 3,
      scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "fuzz" },
      metrics: [
        { type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 80 } } },
      ],
    },
  },
  PodDisruptionBudget: { spec: { minAvailable: 1, selector } },
  Service: { spec: { selector: labels, ports: [{ name: "http", port: 80, targetPort: 8080, protocol: "TCP" }] } },
  Endpoints: { subsets: [{ addresses: [{ ip: "10.0.0.1" }], ports: [{ name: "http", port: 80 }] }] },
  EndpointSlice: {
    addressType: "IPv4",
    endpoints: [{ addresses: ["10.0.0.1"], conditions: { ready: true } }],
    ports: [{ name: "http", port: 80, protocol: "TCP" }],
  },
  Ingress: {
    spec: {
      rules: [
        {
          host: "a.example.com",
          http: {
            paths: [{ path: "/", pathType: "Prefix", backend: { service: { name: "fuzz", port: { number: 80 } } } }],
          },
        },
      ],
      tls: [{ hosts: ["a.example.com"], secretName: "fuzz" }],
    },
  },
  IngressClass: { spec: { controller: "example.com/ingress" } },
  NetworkPolicy: {
    spec: {
      podSelector: selector,
      policyTypes: ["Ingress"],
      ingress: [{ from: [{ ipBlock: { cidr: "10.0.0.0/8" } }], ports: [{ protocol: "TCP", port: 80 }] }],
    },
  },
  PersistentVolumeClaim: { spec: claim },
  PersistentVolume: {
    spec: { capacity: { storage: "1Gi" }, accessModes: ["ReadWriteOnce"], hostPath: { path: "/data" } },
  },
  StorageClass: { provisioner: "example.com/disk", reclaimPolicy: "Delete", parameters: { type: "ssd" } },
  PriorityClass: { value: 10, description: "x" },
  // Plenty of all, so that others are not refused because of it.
  ResourceQuota: { spec: { hard: { "count/configmaps": "1000000", services: "1000000", cpu: "1000000" } } },
  LimitRange: { spec: { limits: [{ type: "Container", default: { cpu: "100m" }, max: { cpu: "1000" } }] } },
};
