// Workloads of a cluster whose controllers make pods of them: what a tenant stores is multiplied.

import { DEFAULT, members, range, type StoredThing, selector } from "./stored-thing.ts";

const APPS = "apis/apps/v1/namespaces/default";
const template = (labels: object): object => ({
  metadata: { labels },
  spec: { restartPolicy: "Always", containers: [{ name: "a", image: "i" }] },
});

export const CONTROLLED_THINGS: readonly StoredThing[] = [
  {
    name: "Deployments with replicas",
    place: "cluster",
    workloads: "controlled",
    base: { count: 20, size: 10 },
    path: `${APPS}/deployments`,
    object: (index, size) => {
      const labels = { app: `d${index}` };
      const spec = { replicas: size, selector: { matchLabels: labels }, template: template(labels) };
      return { metadata: { name: `d${index}` }, spec };
    },
  },
  {
    name: "ReplicaSets that select the same pods",
    place: "cluster",
    workloads: "controlled",
    base: { count: 20, size: 20 },
    before: async (store, size) => {
      for (const index of range(size)) {
        const body = {
          metadata: { name: `free${index}`, labels: { app: "same" } },
          spec: { containers: [{ name: "a", image: "i" }] },
        };
        if (!(await store(`${DEFAULT}/pods`, body))) return false;
      }
      return true;
    },
    path: `${APPS}/replicasets`,
    object: (index, size) => ({
      metadata: { name: `r${index}` },
      spec: {
        replicas: 3,
        selector: { matchLabels: { app: "same" }, ...selector(size) },
        template: template({ app: "same", ...members(size, "v") }),
      },
    }),
  },
  {
    name: "Jobs with parallelism",
    place: "cluster",
    workloads: "controlled",
    base: { count: 20, size: 10 },
    path: "apis/batch/v1/namespaces/default/jobs",
    object: (index, size) => {
      const spec = { restartPolicy: "Never", containers: [{ name: "a", image: "i" }] };
      return { metadata: { name: `j${index}` }, spec: { parallelism: size, completions: size, template: { spec } } };
    },
  },
  {
    name: "ReplicaSets of a Deployment",
    place: "cluster",
    workloads: "controlled",
    base: { count: 50, size: 100 },
    before: (store) => {
      const labels = { app: "one" };
      const spec = { replicas: 1, selector: { matchLabels: labels }, template: template(labels) };
      return store(`${APPS}/deployments`, { metadata: { name: "one" }, spec });
    },
    path: `${APPS}/replicasets`,
    object: (index, size) => {
      const labels = { app: "one", number: `r${index}` };
      const spec = {
        replicas: 0,
        selector: { matchLabels: labels },
        template: template({ ...labels, ...members(size, "v") }),
      };
      return { metadata: { name: `r${index}`, labels }, spec };
    },
  },
  {
    name: "ControllerRevisions of a StatefulSet",
    place: "cluster",
    workloads: "controlled",
    base: { count: 50, size: 200 },
    before: (store) => {
      const labels = { app: "one" };
      const spec = { replicas: 1, serviceName: "one", selector: { matchLabels: labels }, template: template(labels) };
      return store(`${APPS}/statefulsets`, { metadata: { name: "one" }, spec });
    },
    path: `${APPS}/controllerrevisions`,
    object: (index, size) => ({
      metadata: { name: `c${index}`, labels: { app: "one" } },
      revision: index + 10,
      data: { spec: { template: { metadata: { labels: members(size, "v") } } } },
    }),
  },
  {
    name: "claims beside volumes",
    place: "cluster",
    workloads: "controlled",
    base: { count: 50, size: 50 },
    before: async (store, size) => {
      for (const index of range(size)) {
        const spec = { capacity: { storage: "1Gi" }, accessModes: ["ReadWriteOnce"], hostPath: { path: "/data" } };
        const metadata = { name: `v${index}`, labels: members(10, "x") };
        if (!(await store("api/v1/persistentvolumes", { metadata, spec }))) return false;
      }
      return true;
    },
    path: `${DEFAULT}/persistentvolumeclaims`,
    // Half of them find a volume, and the others look at all of them. The size is the number of volumes.
    object: (index) => ({
      metadata: { name: `c${index}` },
      spec: {
        accessModes: ["ReadWriteOnce"],
        resources: { requests: { storage: "1Gi" } },
        ...(index % 2 === 0 ? {} : { selector: selector(20) }),
      },
    }),
  },
];
