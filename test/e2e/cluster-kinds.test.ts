// Cluster features that charts and controllers expect, inside an embedded virtual cluster, with a real kubectl and helm.

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { KubectlSession } from "./testing/kubectl-clients.ts";
import { kubernetesTools } from "./testing/kubernetes-tools.ts";
import { succeed, tool } from "./testing/postern-process.ts";
import { startTenantClusters, type TenantClusters } from "./testing/tenant-clusters.ts";

let clusters: TenantClusters;
let kubectl: KubectlSession;
let config: string;
beforeAll(async () => {
  clusters = await startTenantClusters();
  ({ kubectl, config } = await clusters.open("demo"));
});
afterAll(() => clusters?.[Symbol.asyncDispose]());

const patchTemplate = async (template: object): Promise<void> => {
  const patch = JSON.stringify({ spec: { template } });
  await clusters.admin.run(`patch virtualclusterinstance demo -n p-default --type=merge -p ${patch}`);
};

test("services get addresses, each its own, and keep them", async () => {
  expect(await kubectl.run("create service clusterip web --tcp=80:8080")).toBe("service/web created\n");
  expect(await kubectl.run("create service nodeport ports --tcp=80:8080 --tcp=443:8443")).toContain("created");
  expect(await kubectl.run("create service clusterip bare --clusterip=None")).toContain("created");
  expect(await kubectl.run("create service externalname far --external-name=example.com")).toContain("created");
  const web = await kubectl.json("get service web");
  expect(web.spec).toMatchObject({
    clusterIPs: [web.spec.clusterIP],
    internalTrafficPolicy: "Cluster",
    ipFamilies: ["IPv4"],
    ipFamilyPolicy: "SingleStack",
    sessionAffinity: "None",
    type: "ClusterIP",
  });
  const ports = await kubectl.json("get service ports");
  expect(ports.spec.clusterIP).not.toBe(web.spec.clusterIP);
  expect(new Set(ports.spec.ports.map(({ nodePort }: any) => nodePort)).size).toBe(2);
  expect((await kubectl.json("get service far")).spec).not.toHaveProperty("clusterIP");
  expect(await kubectl.run("get services")).toMatch(
    /^NAME +TYPE +CLUSTER-IP +EXTERNAL-IP +PORT\(S\) +AGE\nbare +ClusterIP +None +<none> +<none> +\S+\nfar +ExternalName +<none> +example.com +<none> +\S+\nkubernetes +ClusterIP +10\.96\.0\.1 +<none> +443\/TCP +\S+\nports +NodePort +10\.\S+ +<none> +80:3\d{4}\/TCP,443:3\d{4}\/TCP +\S+\nweb +ClusterIP +10\.\S+ +<none> +80\/TCP +\S+\n$/,
  );
  expect(await kubectl.run("get svc -l app=web -o wide")).toMatch(/SELECTOR\nweb .* app=web\n$/);
});

test("addresses that are taken, out of range or changed are refused in the words of Kubernetes", async () => {
  const taken = (await kubectl.json("get service web")).spec.clusterIP;
  expect(await kubectl.fails(`create service clusterip twice --tcp=80 --clusterip=${taken}`)).toContain(
    `spec.clusterIPs: Invalid value: ["${taken}"]: failed to allocate IP ${taken}: provided IP is already allocated`,
  );
  expect(await kubectl.fails("create service clusterip outside --tcp=80 --clusterip=192.168.0.1")).toContain(
    "failed to allocate IP 192.168.0.1: the provided network does not match the current range",
  );
  expect(await kubectl.fails('patch service web -p {"spec":{"clusterIP":"10.96.7.7"}}')).toContain(
    "may not change once set",
  );
  expect(await kubectl.fails('patch service web --type=merge -p {"spec":{"ports":[]}}')).toContain(
    "spec.ports: Required value",
  );
  await kubectl.run('patch service web -p {"spec":{"type":"NodePort"}}');
  const nodePort = (await kubectl.json("get service web")).spec.ports[0].nodePort;
  expect(nodePort).toBeGreaterThanOrEqual(30_000);
  await kubectl.run('patch service web -p {"spec":{"type":"ClusterIP"}}');
  expect((await kubectl.json("get service web")).spec).toMatchObject({ clusterIP: taken, type: "ClusterIP" });
});

test("a new cluster has the Service of its API, as kubectl shows it", async () => {
  const { kubectl: fresh } = await clusters.create("fresh");
  expect(await fresh.run("get services -A -o wide")).toMatch(
    /^NAMESPACE +NAME +TYPE +CLUSTER-IP +EXTERNAL-IP +PORT\(S\) +AGE +SELECTOR\ndefault +kubernetes +ClusterIP +10\.96\.0\.1 +<none> +443\/TCP +\S+ +<none>\n$/,
  );
  // The server of the test is reached on its own machine only.
  expect(await fresh.run("get endpointslices")).toMatch(/\nkubernetes +IPv4 +<unset> +<unset> +\S+\n$/);
  expect(await fresh.run("get all -o name")).toBe("service/kubernetes\n");
  expect(await fresh.run("describe service kubernetes")).toMatch(
    /Labels: +component=apiserver\n +provider=kubernetes\n/,
  );
  await fresh.run("delete service kubernetes");
  await expect.poll(async () => (await fresh(["get", "service", "kubernetes", "-o", "name"])).code).toBe(0);
  expect(await fresh.run("get namespaces -o name")).toBe(
    "namespace/default\nnamespace/kube-node-lease\nnamespace/kube-public\nnamespace/kube-system\n",
  );
  for (const namespace of ["default", "kube-node-lease", "kube-public", "kube-system"]) {
    expect(await fresh.run(`get serviceaccount/default configmap/kube-root-ca.crt -n ${namespace} -o name`)).toBe(
      "serviceaccount/default\nconfigmap/kube-root-ca.crt\n",
    );
  }
});

test("autoscalers are one object in both versions, as kubectl writes and explains them", async () => {
  const { kubectl: scaled } = await clusters.create("scaled", { workloads: "stored" });
  await scaled.run("create deployment web --image=nginx");
  await scaled.run("autoscale deployment web --min=2 --max=5 --cpu-percent=70");
  expect(await scaled.run("get hpa")).toMatch(
    /^NAME +REFERENCE +TARGETS +MINPODS +MAXPODS +REPLICAS +AGE\nweb +Deployment\/web +cpu: <unknown>\/70% +2 +5 +0 +\S+\n$/,
  );
  expect((await scaled.json("get horizontalpodautoscalers.v1.autoscaling web")).spec).toEqual({
    scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "web" },
    minReplicas: 2,
    maxReplicas: 5,
    targetCPUUtilizationPercentage: 70,
  });
  const older = (percent: number) =>
    `apiVersion: autoscaling/v1\nkind: HorizontalPodAutoscaler\nmetadata: {name: older}\nspec: {maxReplicas: 3, targetCPUUtilizationPercentage: ${percent}, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}\n`;
  await scaled.run("apply -f -", older(50));
  expect(await scaled.run("apply -f -", older(50))).toContain("unchanged");
  expect(await scaled.run("diff -f -", older(50))).toBe("");
  await scaled.run("apply -f -", older(60));
  expect((await scaled.json("get hpa older")).spec.metrics).toEqual([
    { type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 60 } } },
  ]);
  await scaled.run("apply --server-side --field-manager=other --force-conflicts -f -", older(80));
  expect(await scaled.run("get horizontalpodautoscalers.v1.autoscaling older")).toMatch(
    /older +Deployment\/web +cpu: <unknown>\/80% +1 +3/,
  );
  expect(await scaled.run("explain hpa.spec.metrics.containerResource.target.averageUtilization")).toMatch(
    /FIELD: averageUtilization <integer>[\s\S]*target value of the average of the\s+resource metric/,
  );
  expect(await scaled.run("explain hpa.spec --api-version=autoscaling/v1")).toContain("targetCPUUtilizationPercentage");
  expect(await scaled.fails('patch hpa web --type=merge -p {"spec":{"maxReplicas":1}}')).toContain(
    "spec.maxReplicas: Invalid value: 1: must be greater than or equal to `minReplicas`",
  );
  expect(await scaled.run("describe hpa web")).toContain("resource cpu on pods  (as a percentage of request)");
  await scaled.run("delete hpa --all");
});

test("a quota of a namespace is enforced, and says what is used", async () => {
  await kubectl.run("create namespace small");
  await kubectl.run("create quota few -n small --hard=count/configmaps=3,services=1,count/deployments.apps=2,cpu=1");
  await kubectl.run("create configmap one -n small");
  await kubectl.run("create configmap two -n small");
  expect(await kubectl.fails("create configmap three -n small")).toMatch(
    /configmaps "three" is forbidden: exceeded quota: few, requested: count\/configmaps=1, used: count\/configmaps=3, limited: count\/configmaps=3/,
  );
  await kubectl.run("delete configmap two -n small");
  await kubectl.run("create configmap three -n small");
  await kubectl.run("create service clusterip a -n small --tcp=80");
  expect(await kubectl.fails("create service clusterip b -n small --tcp=80")).toContain(
    "exceeded quota: few, requested: services=1",
  );
  await expect
    .poll(async () => (await kubectl.json("get quota few -n small")).status?.used)
    .toEqual({ "count/configmaps": "3", services: "1", "count/deployments.apps": "0", cpu: "0" });
  expect(await kubectl.run("describe quota few -n small")).toMatch(/count\/configmaps +3 +3/);
});

test("workloads are refused with the reason, and stored if the instance allows it", async () => {
  expect(await kubectl.run("get deployments,pods,jobs")).toBe("");
  expect(await kubectl.fails("create deployment web --image=nginx")).toContain(
    'deployments.apps "web" is forbidden: this virtual cluster has no nodes, so that no pods run in it',
  );
  await patchTemplate({ workloads: "stored" });
  await expect
    .poll(() => kubectl(["create", "deployment", "web", "--image=nginx:1.27"]).then(({ code }) => code))
    .toBe(0);
  expect(await kubectl.run("get deployment web -o wide")).toMatch(
    /^NAME +READY +UP-TO-DATE +AVAILABLE +AGE +CONTAINERS +IMAGES +SELECTOR\nweb +0\/1 +0 +0 +\S+ +nginx +nginx:1.27 +app=web\n$/,
  );
  await kubectl.run("scale deployment web --replicas=3");
  await kubectl.run("set image deployment/web nginx=nginx:1.28");
  await kubectl.run("set env deployment/web A=1 B=2");
  const web = await kubectl.json("get deployment web");
  expect(web.metadata.generation).toBe(4);
  expect(web.spec).toMatchObject({
    replicas: 3,
    strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: "25%", maxUnavailable: "25%" } },
    template: {
      spec: { containers: [{ image: "nginx:1.28", imagePullPolicy: "IfNotPresent" }], dnsPolicy: "ClusterFirst" },
    },
  });
  await kubectl.run("set env deployment/web A-");
  expect((await kubectl.json("get deployment web")).spec.template.spec.containers[0].env).toEqual([
    { name: "B", value: "2" },
  ]);
  expect(
    await kubectl.fails('patch deployment web -p {"spec":{"selector":{"matchLabels":{"app":"other"}}}}'),
  ).toContain("field is immutable");
  await kubectl.run("run one --image=busybox");
  expect(await kubectl.run("get pods")).toMatch(/^NAME +READY +STATUS +RESTARTS +AGE\none +0\/1 +Pending +0 +\S+\n$/);
  expect(await kubectl.fails("logs one")).toContain("pod one runs nowhere");
  await kubectl.run("create job once --image=busybox");
  await succeed(kubectl(["create", "cronjob", "often", "--image=busybox", "--schedule=*/5 * * * *"]));
  await kubectl.run(
    "apply -f -",
    "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: web}\nspec: {maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}",
  );
  const all = (await kubectl.run("get all -o name"))
    .split("\n")
    .filter((name) => name !== "" && !name.startsWith("service/"));
  expect(all.toSorted()).toEqual([
    "cronjob.batch/often",
    "deployment.apps/web",
    "horizontalpodautoscaler.autoscaling/web",
    "job.batch/once",
    "pod/one",
  ]);
  expect(await kubectl.run("explain deployment.spec.template.spec.containers.image")).toContain(
    "FIELD: image <string>",
  );
});

test("a service account with a role sees through `kubectl auth can-i` what editors may do", async () => {
  await kubectl.run("create serviceaccount editor");
  await kubectl.run("create rolebinding editor --clusterrole=edit --serviceaccount=default:editor");
  const token = (await kubectl.run("create token editor")).trim();
  const can = (what: string) => kubectl(["auth", "can-i", ...what.split(" "), "--token", token]);
  await expect.poll(async () => (await can("create deployments.apps")).stdout).toBe("yes\n");
  expect((await can("create endpointslices.discovery.k8s.io")).stdout).toBe("no\n");
  expect((await can("delete services")).stdout).toBe("yes\n");
});

test("helm installs a chart as `helm create` writes it, and takes it away again", async () => {
  const { helm } = await kubernetesTools("1.35");
  const homes = ["CACHE", "CONFIG", "DATA"].map(
    (home) => `HELM_${home}_HOME=${join(clusters.directory, "helm", home)}`,
  );
  await mkdir(join(clusters.directory, "charts"));
  const chart = join(clusters.directory, "charts", "shop");
  const run = (...args: string[]) => succeed(tool("env", [...homes, helm, "--kubeconfig", config, ...args]));
  await run("create", chart);
  expect(
    await run(
      "install",
      "shop",
      chart,
      "--set",
      "ingress.enabled=true,autoscaling.enabled=true,autoscaling.targetMemoryUtilizationPercentage=80",
    ),
  ).toContain("STATUS: deployed");
  expect(await kubectl.run("get ingress shop")).toMatch(
    /NAME +CLASS +HOSTS +ADDRESS +PORTS +AGE\nshop +<none> +chart-example.local +80 /,
  );
  await run("upgrade", "shop", chart, "--set", "image.tag=9,replicaCount=2");
  expect((await kubectl.json("get deployment shop")).spec.template.spec.containers[0].image).toBe("nginx:9");
  await run("rollback", "shop", "1");
  await run("uninstall", "shop");
  expect(await kubectl.run("get all -l app.kubernetes.io/name=shop")).toBe("");
});

test("a chart whose hook is a Job is installed where Jobs are taken for complete, and they say that nothing ran", async () => {
  await patchTemplate({ workloads: "completed" });
  const { helm } = await kubernetesTools("1.35");
  const chart = join(clusters.directory, "hooked");
  await mkdir(join(chart, "templates"), { recursive: true });
  await writeFile(join(chart, "Chart.yaml"), "apiVersion: v2\nname: hooked\nversion: 1.0.0\n");
  const job = (name: string, annotations: object) => ({
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { name, annotations },
    spec: { template: { spec: { restartPolicy: "Never", containers: [{ name: "a", image: "busybox" }] } } },
  });
  const hook = { "helm.sh/hook": "pre-install", "helm.sh/hook-delete-policy": "before-hook-creation" };
  await writeFile(join(chart, "templates", "hook.yaml"), JSON.stringify(job("secret-init", hook)));
  await writeFile(join(chart, "templates", "job.yaml"), JSON.stringify(job("plain", {})));
  const homes = ["CACHE", "CONFIG", "DATA"].map(
    (home) => `HELM_${home}_HOME=${join(clusters.directory, "hooks", home)}`,
  );
  const run = (...args: string[]) => succeed(tool("env", [...homes, helm, "--kubeconfig", config, ...args]));
  expect(await run("install", "hooked", chart, "--wait", "--wait-for-jobs", "--timeout", "50s")).toContain(
    "STATUS: deployed",
  );
  for (const name of ["secret-init", "plain"]) {
    const { status } = await kubectl.json(`get job ${name}`);
    expect(status).toMatchObject({ succeeded: 1, completionTime: expect.any(String) });
    expect(status.conditions).toContainEqual(
      expect.objectContaining({
        type: "Complete",
        reason: "NoNodes",
        message: expect.stringContaining("no pod has run"),
      }),
    );
  }
  expect(await kubectl.run("wait --for=condition=complete job/plain --timeout=10s")).toContain("condition met");
  // One that is suspended is not finished, and neither is one of a cluster that keeps workloads alone.
  await kubectl.run(
    "apply -f -",
    JSON.stringify({ ...job("later", {}), spec: { ...job("", {}).spec, suspend: true } }),
  );
  await patchTemplate({ workloads: "stored" });
  await kubectl.run("create job waits --image=busybox");
  expect((await kubectl.json("get job later")).status.conditions).toBeUndefined();
});

test("the other kinds are applied by both ways of applying, and unchanged the second time", async () => {
  const manifests = `
apiVersion: v1
kind: Endpoints
metadata: {name: outside}
subsets: [{addresses: [{ip: 10.1.2.3}, {ip: 10.1.2.4}], ports: [{port: 8080, protocol: TCP}]}]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: web-1, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
endpoints: [{addresses: [10.1.2.3], conditions: {ready: true}}]
ports: [{name: http, port: 8080, protocol: TCP}]
---
apiVersion: v1
kind: LimitRange
metadata: {name: limits}
spec: {limits: [{type: Container, default: {cpu: 500m}, defaultRequest: {cpu: 100m}}]}
---
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: nginx}
spec: {controller: k8s.io/ingress-nginx}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: deny}
spec: {podSelector: {matchLabels: {app: web}}, policyTypes: [Ingress]}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: high}
value: 1000
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: fast, annotations: {storageclass.kubernetes.io/is-default-class: "true"}}
provisioner: example.com/disks
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec:
      containers:
        - name: db
          image: postgres:17
          ports: [{containerPort: 5432, name: db}]
          volumeMounts: [{name: data, mountPath: /data}]
          readinessProbe: {httpGet: {path: /, port: db}}
      volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template: {metadata: {labels: {app: agent}}, spec: {containers: [{name: agent, image: agent}]}}
`;
  const count = manifests.split("---").length;
  const applied = await kubectl.run("apply -f -", manifests);
  expect(applied.match(/ created/g)).toHaveLength(count);
  // The selector of a PodDisruptionBudget is replaced in patches, so that kubectl sends it again; upstream answers the same.
  const again = await kubectl.run("apply -f -", manifests);
  expect(again.match(/ unchanged/g)).toHaveLength(count - 1);
  expect(again).toContain("poddisruptionbudget.policy/web configured");
  await kubectl.run("apply --server-side --force-conflicts -f -", manifests);
  expect(await kubectl.run("diff -f -", manifests)).toBe("");
  expect(await kubectl.run("get endpoints outside")).toMatch(/\noutside +10.1.2.3:8080,10.1.2.4:8080 /);
  expect(await kubectl.run("get endpointslice web-1")).toMatch(
    /ADDRESSTYPE +PORTS +ENDPOINTS +AGE\nweb-1 +IPv4 +8080 +10.1.2.3 /,
  );
  expect(await kubectl.run("get sc")).toMatch(/\nfast \(default\) +example.com\/disks +Delete +Immediate +false /);
  expect(await kubectl.run("get netpol deny")).toMatch(/POD-SELECTOR +AGE\ndeny +app=web /);
  expect(await kubectl.run("get pdb web")).toMatch(/\nweb +1 +N\/A +0 /);
  expect(await kubectl.run("get pvc data")).toMatch(/\ndata +Pending /);
  await kubectl.run("delete -f -", manifests);
});

test("a Node is marked as by kube-controller-manager, and a client that plays its kubelet is believed", async () => {
  const taints = async () => (await kubectl.run("describe node worker")).match(/^Taints: +(.*)$/m)?.[1];
  await kubectl.run("create -f -", JSON.stringify({ apiVersion: "v1", kind: "Node", metadata: { name: "worker" } }));
  await expect.poll(taints).toBe("<none>");
  await kubectl.run("cordon worker");
  await expect.poll(taints).toBe("node.kubernetes.io/unschedulable:NoSchedule");
  await kubectl.run("uncordon worker");
  await expect.poll(taints).toBe("<none>");
  const ready = (status: string) => JSON.stringify({ status: { conditions: [{ type: "Ready", status }] } });
  await kubectl.run(`patch node worker --subresource=status -p ${ready("False")}`);
  await expect.poll(taints).toBe("node.kubernetes.io/not-ready:NoSchedule");
  await kubectl.run(`patch node worker --subresource=status -p ${ready("True")}`);
  await expect.poll(taints).toBe("<none>");
  expect(await kubectl.run("get node worker --no-headers")).toMatch(/^worker +Ready /);
  await kubectl.run("delete node worker");
  await expect
    .poll(() => kubectl.run("get events --field-selector involvedObject.name=worker"))
    .toContain("RemovingNode");
});
