import { generateKeyPairSync } from "node:crypto";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createCertificateRequest } from "../../../foundation/pki/certificate-request.ts";
import { createEmbeddedHost, type EmbeddedHost } from "./testing/embedded-host.ts";

let host: EmbeddedHost;
beforeEach(async () => {
  host = await createEmbeddedHost();
  await host.setUp("one");
});
afterEach(async () => {
  expect(host.errors).toEqual([]);
  await host[Symbol.asyncDispose]();
});

const RBAC = "rbac.authorization.k8s.io";
const get = async (url: string) => (await host.request("one", { url })).body;
const post = async (url: string, body: object) => (await host.request("one", { method: "POST", url, body })).body;
const put = async (url: string, body: object) => (await host.request("one", { method: "PUT", url, body })).body;
const patch = async (url: string, body: object, type = "merge-patch") =>
  (await host.request("one", { method: "PATCH", url, headers: { "content-type": `application/${type}+json` }, body }))
    .body;
const remove = async (url: string, body?: object) =>
  (await host.request("one", { method: "DELETE", url, ...(body === undefined ? {} : { body }) })).body;
const isGone = (url: string) => expect(get(url)).rejects.toMatchObject({ code: 404 });

const SERVICE = "/api/v1/namespaces/default/services/kubernetes";
const ENDPOINTS = "/api/v1/namespaces/default/endpoints/kubernetes";
const SLICE = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes";

describe("the Service of the API", () => {
  it("exists from the start, as in Kubernetes", async () => {
    expect(await get(SERVICE)).toMatchObject({
      metadata: { labels: { component: "apiserver", provider: "kubernetes" } },
      spec: {
        clusterIP: "10.96.0.1",
        clusterIPs: ["10.96.0.1"],
        internalTrafficPolicy: "Cluster",
        ipFamilies: ["IPv4"],
        ipFamilyPolicy: "SingleStack",
        ports: [{ name: "https", port: 443, protocol: "TCP", targetPort: 8443 }],
        sessionAffinity: "None",
        type: "ClusterIP",
      },
      status: { loadBalancer: {} },
    });
    expect((await get(SERVICE)).spec.selector).toBeUndefined();
    expect((await get(ENDPOINTS)).metadata.labels).toEqual({ "endpointslice.kubernetes.io/skip-mirror": "true" });
    expect((await get(ENDPOINTS)).subsets).toEqual([
      { addresses: [{ ip: "203.0.113.7" }], ports: [{ name: "https", port: 8443, protocol: "TCP" }] },
    ]);
    expect(await get(SLICE)).toMatchObject({
      metadata: { labels: { "kubernetes.io/service-name": "kubernetes" } },
      addressType: "IPv4",
      endpoints: [{ addresses: ["203.0.113.7"], conditions: { ready: true } }],
      ports: [{ name: "https", port: 8443, protocol: "TCP" }],
    });
  });

  it("comes back when it is deleted, and its addresses when they are changed", async () => {
    const { uid } = (await get(SERVICE)).metadata;
    // The endpoints of a Service go with it.
    for (const url of [ENDPOINTS, SLICE, SERVICE]) await remove(url);
    await host.settled("one");
    expect((await get(SERVICE)).metadata.uid).not.toBe(uid);
    expect((await get(SERVICE)).spec.clusterIP).toBe("10.96.0.1");
    await put(ENDPOINTS, { metadata: { name: "kubernetes" }, subsets: [] });
    await patch(SLICE, { endpoints: [{ addresses: ["192.0.2.1"] }] });
    await patch(SERVICE, { metadata: { labels: { mine: "yes" } } });
    await host.settled("one");
    expect((await get(ENDPOINTS)).subsets[0].addresses).toEqual([{ ip: "203.0.113.7" }]);
    expect((await get(SLICE)).endpoints[0].addresses).toEqual(["203.0.113.7"]);
    // Labels that people add there stay.
    expect((await get(SERVICE)).metadata.labels.mine).toBe("yes");
  });

  it("follows the address of the server, and has none where only a name is known", async () => {
    host.reachedAt({ ip: "2001:db8::7", port: 443 });
    await host.clusters.stop("one");
    await host.settled("one");
    expect(await get(SLICE)).toMatchObject({ addressType: "IPv6", endpoints: [{ addresses: ["2001:db8::7"] }] });
    expect((await get(ENDPOINTS)).subsets[0].addresses).toEqual([{ ip: "2001:db8::7" }]);
    host.reachedAt(undefined);
    await host.clusters.stop("one");
    await host.settled("one");
    expect(await get(SLICE)).toMatchObject({ addressType: "IPv4", endpoints: [], ports: [] });
    expect((await get(ENDPOINTS)).subsets).toBeUndefined();
  });

  it("has the first address to itself", async () => {
    const url = "/api/v1/namespaces/default/services";
    const spec = { clusterIP: "10.96.0.1", ports: [{ port: 80 }] };
    await expect(post(url, { metadata: { name: "other" }, spec })).rejects.toMatchObject({
      code: 422,
      message: expect.stringContaining("provided IP is already allocated"),
    });
    const elsewhere = "/api/v1/namespaces/kube-public/services";
    await expect(post(elsewhere, { metadata: { name: "kubernetes" }, spec })).rejects.toMatchObject({ code: 422 });
  });
});

describe("an embedded cluster has", () => {
  it("namespaces, which go with all that is in them, and not before their finalizers let them", async () => {
    await post("/api/v1/namespaces", { metadata: { name: "shop" } });
    const held = { metadata: { name: "held", finalizers: ["example.com/hold"] } };
    await post("/api/v1/namespaces/shop/configmaps", held);
    await post("/api/v1/namespaces/shop/secrets", { metadata: { name: "loose" } });
    expect((await remove("/api/v1/namespaces/shop")).status.phase).toBe("Terminating");
    await host.settled("one");
    await isGone("/api/v1/namespaces/shop/secrets/loose");
    const waiting = await get("/api/v1/namespaces/shop");
    expect(waiting.status.conditions).toContainEqual(
      expect.objectContaining({ type: "NamespaceFinalizersRemaining", status: "True" }),
    );
    await expect(post("/api/v1/namespaces/shop/secrets", { metadata: { name: "late" } })).rejects.toMatchObject({
      code: 403,
    });
    await patch("/api/v1/namespaces/shop/configmaps/held", { metadata: { finalizers: null } });
    await host.settled("one");
    await isGone("/api/v1/namespaces/shop");
  });

  it("config maps that can be made immutable", async () => {
    const url = "/api/v1/namespaces/default/configmaps";
    await post(url, { metadata: { name: "settings" }, data: { a: "1" }, immutable: true });
    await expect(patch(`${url}/settings`, { data: { a: "2" } })).rejects.toMatchObject({ code: 422 });
  });

  it("secrets that take plain text and keep bytes", async () => {
    const url = "/api/v1/namespaces/default/secrets";
    const secret = await post(url, { metadata: { name: "s" }, stringData: { word: "open sesame" } });
    expect(secret).toMatchObject({ type: "Opaque", data: { word: Buffer.from("open sesame").toString("base64") } });
    expect(secret.stringData).toBeUndefined();
  });

  it("quotas, which Services do not get round by a change of their type", async () => {
    // The Service of the API counts, as everywhere.
    const hard = { services: "4", "services.loadbalancers": "1", "services.nodeports": "2" };
    await post("/api/v1/namespaces/default/resourcequotas", { metadata: { name: "few" }, spec: { hard } });
    const url = "/api/v1/namespaces/default/services";
    const ports = [{ port: 80 }];
    await post(url, { metadata: { name: "a" }, spec: { type: "LoadBalancer", ports } });
    await post(url, { metadata: { name: "b" }, spec: { ports } });
    const exceeded = (name: string) => ({ code: 403, message: expect.stringContaining(`requested: ${name}=1`) });
    const become = (type: string) => patch(`${url}/b`, { spec: { type } });
    await expect(become("LoadBalancer")).rejects.toMatchObject(exceeded("services.loadbalancers"));
    expect((await become("NodePort")).spec.ports[0].nodePort).toBeGreaterThan(0);
    await post(url, { metadata: { name: "c" }, spec: { ports } });
    const taken = (await get(`${url}/b`)).spec.ports[0].nodePort;
    await expect(
      patch(`${url}/c`, { spec: { type: "NodePort", ports: [{ port: 80, nodePort: taken }] } }),
    ).rejects.toMatchObject({ code: 422, message: expect.stringContaining("provided port is already allocated") });
    await expect(patch(`${url}/c`, { spec: { type: "NodePort" } })).rejects.toMatchObject(
      exceeded("services.nodeports"),
    );
    await remove(`${url}/a`);
    expect((await become("LoadBalancer")).spec.type).toBe("LoadBalancer");
    await expect(post(url, { metadata: { name: "d" } })).rejects.toMatchObject({ code: 422 });
    await host.settled("one");
    const used = (await get("/api/v1/namespaces/default/resourcequotas/few")).status.used;
    expect(used).toEqual({ services: "3", "services.loadbalancers": "1", "services.nodeports": "1" });
  });

  it("events", async () => {
    const url = "/api/v1/namespaces/default/events";
    const involvedObject = { kind: "ConfigMap", namespace: "default", name: "settings" };
    await post(url, {
      metadata: { name: "e1" },
      involvedObject,
      reason: "Changed",
      message: "by hand",
      type: "Normal",
    });
    const { items } = await get(`${url}?fieldSelector=involvedObject.name%3Dsettings`);
    expect(items.map(({ reason }: any) => reason)).toEqual(["Changed"]);
  });

  it("leases, of which one holder of two gets each", async () => {
    const url = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
    const lease = await post(url, { metadata: { name: "leader" }, spec: { holderIdentity: "a" } });
    await put(`${url}/leader`, { ...lease, spec: { holderIdentity: "b" } });
    await expect(put(`${url}/leader`, { ...lease, spec: { holderIdentity: "c" } })).rejects.toMatchObject({
      code: 409,
    });
  });

  it("aggregated ClusterRoles", async () => {
    const url = `/apis/${RBAC}/v1/clusterroles`;
    const rule = { apiGroups: [""], resources: ["events"], verbs: ["deletecollection"] };
    const aggregationRule = { clusterRoleSelectors: [{ matchLabels: { team: "ops" } }] };
    await post(url, { metadata: { name: "gathered" }, aggregationRule });
    await post(url, { metadata: { name: "part", labels: { team: "ops" } }, rules: [rule] });
    await host.settled("one");
    expect((await get(`${url}/gathered`)).rules).toEqual([rule]);
    await remove(`${url}/part`);
    await host.settled("one");
    expect((await get(`${url}/gathered`)).rules).toEqual([]);
  });

  it("roles that users can only grant if they have them", async () => {
    const url = `/apis/${RBAC}/v1/namespaces/default/roles`;
    const admin = { name: "ada", groups: [] };
    const grant = {
      metadata: { name: "ada" },
      subjects: [{ apiGroup: RBAC, kind: "User", name: "ada" }],
      roleRef: { apiGroup: RBAC, kind: "ClusterRole", name: "admin" },
    };
    await post(`/apis/${RBAC}/v1/namespaces/default/rolebindings`, grant);
    const roleOf = (resource: string) => ({
      metadata: { name: `reads-${resource}` },
      rules: [{ apiGroups: [""], resources: [resource], verbs: ["get"] }],
    });
    const asAda = (body: object) => host.request("one", { method: "POST", url, body, user: admin });
    expect((await asAda(roleOf("configmaps"))).status).toBe(201);
    await expect(asAda(roleOf("nodes"))).rejects.toMatchObject({ code: 403 });
  });

  it("certificate signing requests that are approved or denied, and then signed or not", async () => {
    const url = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
    const { privateKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
    const request = createCertificateRequest(privateKey, { commonName: "dev", organizations: [] });
    const spec = {
      request: Buffer.from(request).toString("base64"),
      signerName: "kubernetes.io/kube-apiserver-client",
      usages: ["client auth"],
    };
    const decided = async (name: string, type: string) => {
      const created = await post(url, { metadata: { name }, spec });
      const conditions = [{ type, status: "True", reason: "ByHand", message: "" }];
      await put(`${url}/${name}/approval`, { ...created, status: { conditions } });
      await host.settled("one");
      return (await get(`${url}/${name}`)).status;
    };
    expect((await decided("yes", "Approved")).certificate).toBeTypeOf("string");
    expect((await decided("no", "Denied")).certificate).toBeUndefined();
  });

  it("owners, whose dependents go with them", async () => {
    const maps = "/api/v1/namespaces/default/configmaps";
    const owner = await post(maps, { metadata: { name: "owner" } });
    const { uid } = owner.metadata;
    const ownerReferences = [{ apiVersion: "v1", kind: "ConfigMap", name: "owner", uid }];
    await post("/api/v1/namespaces/default/secrets", { metadata: { name: "owned", ownerReferences } });
    await remove(`${maps}/owner`, { kind: "DeleteOptions", apiVersion: "v1", propagationPolicy: "Background" });
    await host.settled("one");
    await isGone("/api/v1/namespaces/default/secrets/owned");
  });

  it("access reviews and whoami", async () => {
    const review = { spec: { resourceAttributes: { verb: "delete", resource: "namespaces" } } };
    const url = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    expect((await post(url, review)).status.allowed).toBe(true);
    const viewer = { name: "vi", groups: ["example:role:view"] };
    const { body } = await host.request("one", { method: "POST", url, body: review, user: viewer });
    expect(body.status.allowed).toBe(false);
  });

  it("server-side apply, with its owners and conflicts", async () => {
    const url = "/api/v1/namespaces/default/configmaps/applied";
    const apply = (manager: string, data: object) =>
      host.request("one", {
        method: "PATCH",
        url: `${url}?fieldManager=${manager}`,
        headers: { "content-type": "application/apply-patch+yaml" },
        body: { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "applied" }, data },
      });
    expect((await apply("one", { a: "1" })).status).toBe(201);
    await expect(apply("two", { a: "2" })).rejects.toMatchObject({ code: 409 });
    expect((await apply("two", { b: "2" })).body.data).toEqual({ a: "1", b: "2" });
  });
});
