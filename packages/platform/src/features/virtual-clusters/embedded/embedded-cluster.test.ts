import { describe, expect, it } from "vitest";
import { TEST_VERSION } from "../../../server/testing/tenancy.ts";
import { createEmbeddedHost, type root, signal } from "./testing/embedded-host.ts";

const editor = { name: "ed", groups: ["example:role:edit"] };
const viewer = { name: "vi", groups: ["example:role:view"] };
const configMap = (name: string) => ({ metadata: { name }, data: { a: "b" } });
const MAPS = "/api/v1/namespaces/default/configmaps";

describe("an embedded virtual cluster", () => {
  it("serves what a bare cluster serves", async () => {
    await using host = await createEmbeddedHost();
    await host.setUp("one");
    const namespaces = await host.request("one", { url: "/api/v1/namespaces" });
    expect(namespaces.body.items.map(({ metadata }: any) => metadata.name)).toEqual([
      "default",
      "kube-node-lease",
      "kube-public",
      "kube-system",
    ]);
    expect((await host.request("one", { url: "/version" })).body.gitVersion).toBe(TEST_VERSION.gitVersion);
    for (const path of ["/healthz", "/livez", "/readyz"]) {
      expect(await host.request("one", { url: path })).toEqual({ status: 200, body: "ok" });
    }
    for (const check of ["ping", "etcd", "poststarthook/rbac/bootstrap-roles"]) {
      for (const endpoint of ["healthz", "livez", "readyz"]) {
        expect(await host.request("one", { url: `/${endpoint}/${check}` })).toEqual({ status: 200, body: "ok" });
      }
    }
    expect((await host.request("one", { url: "/readyz/nosuch" })).status).toBe(404);
    expect((await host.request("one", { url: "/readyz?verbose&exclude=etcd" })).body).toBe(
      "[+]ping ok\n[+]etcd excluded: ok\n[+]poststarthook/rbac/bootstrap-roles ok\n[+]shutdown ok\nreadyz check passed\n",
    );
    expect((await host.request("one", { url: "/" })).body.paths).toEqual(
      expect.arrayContaining(["/livez/etcd", "/metrics", "/metrics/slis", "/readyz/shutdown"]),
    );
    // Each of the three was asked for once as a whole, and `readyz` once more without one of its checks.
    const results = (await host.request("one", { url: "/metrics/slis" })).body.split("\n");
    expect(results).toContain('kubernetes_healthcheck{name="etcd",type="readyz"} 1');
    expect(results).toContain('kubernetes_healthchecks_total{name="etcd",status="success",type="readyz"} 1');
    expect(results).toContain('kubernetes_healthchecks_total{name="ping",status="success",type="readyz"} 2');
    expect(results.filter((line: string) => !/^(# (HELP|TYPE) )?kubernetes_healthcheck/.test(line))).toEqual([""]);
    const groups = (await host.request("one", { url: "/apis" })).body.groups.map(({ name }: any) => name);
    expect(groups).toEqual(
      expect.arrayContaining([
        "authentication.k8s.io",
        "authorization.k8s.io",
        "certificates.k8s.io",
        "coordination.k8s.io",
        "rbac.authorization.k8s.io",
      ]),
    );
    expect(groups.filter((group: string) => group.startsWith("management."))).toEqual([]);
  });

  it("creates, reads, changes and deletes, namespaces with their content as well", async () => {
    await using host = await createEmbeddedHost();
    await host.setUp("one");
    expect((await host.request("one", { method: "POST", url: MAPS, body: configMap("x") })).status).toBe(201);
    const patch = { headers: { "content-type": "application/merge-patch+json" }, body: { data: { a: "c" } } };
    const patched = await host.request("one", { method: "PATCH", url: `${MAPS}/x`, ...patch });
    expect(patched.body.data).toEqual({ a: "c" });
    expect((await host.request("one", { method: "DELETE", url: `${MAPS}/x` })).status).toBe(200);
    await expect(host.request("one", { url: `${MAPS}/x` })).rejects.toMatchObject({ code: 404 });
    expect(host.errors).toEqual([]);
  });

  it("counts its own requests and objects, and no others", async () => {
    await using host = await createEmbeddedHost();
    await host.setUp("one");
    await host.setUp("two");
    await host.request("one", { method: "POST", url: MAPS, body: configMap("x") });
    await expect(host.request("one", { url: `${MAPS}/absent` })).rejects.toMatchObject({ code: 404 });
    expect((await host.request("one", { url: "/apis/nosuch.example.com/v1/things" })).status).toBe(404);
    const of = async (name: string): Promise<string> => (await host.request(name, { url: "/metrics" })).body;
    const [one, two] = [await of("one"), await of("two")];
    const maps = 'group="",version="v1",resource="configmaps",subresource=""';
    expect(one).toContain(
      `apiserver_request_total{verb="POST",dry_run="",${maps},scope="namespace",component="apiserver",code="201"} 1\n`,
    );
    expect(one).toContain(`${maps},scope="resource",component="apiserver",code="404"} 1\n`);
    expect(one).not.toContain("nosuch");
    expect(two).not.toContain(maps);
    const count = (text: string): number =>
      Number(/apiserver_resource_objects\{group="",resource="configmaps"\} (\d+)/.exec(text)?.[1]);
    expect(count(one)).toBe(count(two) + 1);
    expect(one).toContain(`git_version="${TEST_VERSION.gitVersion}"`);
    expect(Number(/apiserver_storage_size_bytes\{storage_cluster_id="etcd-0"\} (\d+)/.exec(one)?.[1])).toBeGreaterThan(
      0,
    );
    await expect(host.request("one", { url: "/metrics", user: viewer })).rejects.toMatchObject({ code: 403 });
  });

  it("gives each role the permissions of the ClusterRole of its name", async () => {
    await using host = await createEmbeddedHost();
    await host.setUp("one");
    const post = (user: object) =>
      host.request("one", { method: "POST", url: MAPS, body: configMap("by-role"), user: user as typeof root });
    await expect(post(viewer)).rejects.toMatchObject({ code: 403 });
    await expect(post({ name: "nobody", groups: [] })).rejects.toMatchObject({ code: 403 });
    expect((await post(editor)).status).toBe(201);
    expect((await host.request("one", { url: MAPS, user: viewer })).status).toBe(200);
    await expect(host.request("one", { url: "/api/v1/secrets", user: viewer })).rejects.toMatchObject({ code: 403 });
    await expect(
      host.request("one", { url: "/apis/rbac.authorization.k8s.io/v1/clusterroles", user: editor }),
    ).rejects.toMatchObject({ code: 403 });
  });

  it("keeps a binding for each role, and removes those for roles that are no longer given", async () => {
    await using host = await createEmbeddedHost();
    await host.setUp("one");
    const bindingsNow = async () => {
      const { body } = await host.request("one", { url: "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings" });
      return body.items.map(({ metadata }: any) => metadata.name).filter((name: string) => name.startsWith("example"));
    };
    // As the agent of a platform of the same name has one in it.
    const ofAgent = {
      metadata: { name: "example-agent", labels: { "app.kubernetes.io/managed-by": "example" } },
      roleRef: { kind: "ClusterRole", name: "view", apiGroup: "rbac.authorization.k8s.io" },
    };
    const url = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
    await host.request("one", { method: "POST", url, body: ofAgent });
    await host.backend("one").bindRoles(["cluster-admin", "auditor"], signal);
    expect(await bindingsNow()).toEqual(["example-agent", "example:role:auditor", "example:role:cluster-admin"]);
  });

  it("is nothing to another: objects, rights and certificates of one mean nothing in the other", async () => {
    await using host = await createEmbeddedHost();
    await host.setUp("one");
    await host.setUp("two");
    await host.request("one", { method: "POST", url: MAPS, body: configMap("mine") });
    await expect(host.request("two", { url: `${MAPS}/mine` })).rejects.toMatchObject({ code: 404 });

    const grant = {
      metadata: { name: "grant" },
      subjects: [{ kind: "User", name: "eve", apiGroup: "rbac.authorization.k8s.io" }],
      roleRef: { kind: "ClusterRole", name: "cluster-admin", apiGroup: "rbac.authorization.k8s.io" },
    };
    const bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
    await host.request("one", { method: "POST", url: bindings, body: grant });
    const eve = { name: "eve", groups: [] };
    expect((await host.request("one", { url: "/api/v1/secrets", user: eve })).status).toBe(200);
    await expect(host.request("two", { url: "/api/v1/secrets", user: eve })).rejects.toMatchObject({ code: 403 });
  });

  it("accepts no system identity (security book 29)", async () => {
    await using host = await createEmbeddedHost();
    await host.setUp("one");
    const masters = { name: "mallory", groups: ["system:masters"] };
    await expect(host.request("one", { url: "/api/v1/secrets", user: masters })).rejects.toMatchObject({ code: 403 });
    const apiserver = { name: "system:apiserver", groups: ["system:masters"] };
    await expect(host.request("one", { url: "/api/v1/secrets", user: apiserver })).rejects.toMatchObject({ code: 403 });
  });

  it("ignores identities that clients claim (security book 28)", async () => {
    await using host = await createEmbeddedHost();
    await host.setUp("one");
    const headers = { "x-remote-user": "root", "x-remote-group": "system:masters" };
    const review = { method: "POST", url: "/apis/authentication.k8s.io/v1/selfsubjectreviews", body: {}, headers };
    const { body } = await host.request("one", { ...review, user: viewer });
    expect(body.status.userInfo).toMatchObject({
      username: "vi",
      groups: ["example:role:view", "system:authenticated"],
    });
    const impersonation = { "impersonate-user": "root", "impersonate-group": "system:masters" };
    await expect(host.request("one", { ...review, headers: impersonation, user: viewer })).rejects.toMatchObject({
      code: 403,
      message: expect.stringContaining("cannot impersonate"),
    });
  });
});
