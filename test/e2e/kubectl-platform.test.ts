// kubectl with the platform as a whole: going between its clusters, tokens that it makes there, status, events, and the columns
// that its resources are printed with.

import { writeFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { type KubectlSession, kubectlsOnStores } from "./testing/kubectl-clients.ts";
import { useKubectlSurfaces } from "./testing/kubectl-surfaces.ts";
import { succeed, tool } from "./testing/postern-process.ts";

const MANAGEMENT = "management.postern/v1";

const { pairs } = await kubectlsOnStores();

describe.each(pairs)("kubectl 1.$minor ($tag) on $storeName", (pair) => {
  const { program, storeName } = pair;
  const { file, managementConfig, virtualClusterConfig, management, inside, session, since, restart } =
    useKubectlSurfaces(pair);
  /** The same cluster as another user. */
  const withToken = async (name: string, own: KubectlSession, token: string): Promise<KubectlSession> => {
    const config = await own.json("config view --raw");
    const users = [{ name: config.users[0].name, user: { token } }];
    await writeFile(file(name), JSON.stringify({ ...config, users }), { mode: 0o600 });
    return session(name);
  };

  it("goes from one cluster to the other by the contexts of one kubeconfig", async () => {
    const flattened = await tool("env", [
      `KUBECONFIG=${managementConfig()}:${virtualClusterConfig()}`,
      ...[program, "config", "view", "--flatten", "--raw", "-o", "json"],
    ]);
    await writeFile(file("both.kubeconfig"), flattened.stdout, { mode: 0o600 });
    const { run, fails } = session("both.kubeconfig");
    const contexts = (await run("config get-contexts -o name")).trim().split("\n");
    expect(contexts).toContain("default-demo");
    expect(contexts).toHaveLength(2);
    expect(await run("config use-context default-demo")).toContain('Switched to context "default-demo".');
    expect(await run("config current-context")).toBe("default-demo\n");
    expect(await run("get cm -o name -n default")).toContain("configmap/kube-root-ca.crt");
    await run("config set-context --current --namespace=kube-system");
    expect(await run("get cm -o name")).toContain("configmap/extension-apiserver-authentication");
    expect(await fails("get cm --token=pst_wrong")).toContain("platform access key not found. Please login again");
    await run("config delete-context default-demo");
    expect(await fails("config use-context default-demo")).toContain("no context exists with the name");
  });

  since(24, "makes tokens of service accounts, which do what the account may", "create token robot", async () => {
    await inside.run("create serviceaccount robot -n default");
    await inside.run("create clusterrolebinding robot --clusterrole=view --serviceaccount=default:robot");
    const token = (await inside.run("create token robot -n default --duration=20m")).trim();
    const robot = await withToken("robot.kubeconfig", inside, token);
    expect(await robot.run("get cm -o name -n default")).toContain("configmap/kube-root-ca.crt");
    expect(await robot.fails("create cm x -n default")).toContain(
      'User "system:serviceaccount:default:robot" cannot create resource "configmaps"',
    );
    expect(await management.fails("create token robot -n default")).toMatch(/NotFound|could not find/);
    await inside.run("delete serviceaccount robot -n default");
    expect(await robot.fails("get cm -n default")).toContain("Unauthorized");
  });

  since(24, "reads and writes the status by itself", "get cm --subresource=status", async () => {
    const instance = "virtualclusterinstance demo -n p-default";
    expect(await management.run(`get ${instance} --subresource=status -o jsonpath={.status.phase}`)).toBe("Ready");
    const patch = ["patch", ...instance.split(" "), "--subresource=status", "--type=merge", "-p"];
    const answer = await succeed(
      management([...patch, '{"status":{"message":"x"},"spec":{"displayName":"not by status"}}', "-o", "json"]),
    );
    const { spec, status } = JSON.parse(String(answer));
    expect([status.message, spec.displayName]).toEqual(["x", "Demo"]);
  });

  since(26, "lists events", "events", async () => {
    await management.run(
      "create -f -",
      JSON.stringify({ apiVersion: MANAGEMENT, kind: "OwnedAccessKey", metadata: { name: "event" } }),
    );
    const change = ["patch", "ownedaccesskey", "event", "--type=merge", "-p"];
    await succeed(management([...change, '{"spec":{"disabled":true}}']));
    await expect
      .poll(() => management.run("events -A --for=ownedaccesskeys.management.postern/event"))
      .toMatch(/Normal +Disabled +OwnedAccessKey\/event/);
  });

  it("deletes an access key with a grace period, and waits until it is gone", async () => {
    const create = async (name: string): Promise<string> => {
      const object = { apiVersion: MANAGEMENT, kind: "OwnedAccessKey", metadata: { name } };
      return JSON.parse(await management.run("create -o json -f -", JSON.stringify(object))).spec.key;
    };
    const key = await create("graceful");
    await management.run("delete oak graceful --grace-period=600 --wait=false");
    const { metadata } = await management.json("get oak graceful");
    expect(metadata).toMatchObject({ deletionGracePeriodSeconds: 600, deletionTimestamp: expect.any(String) });
    expect(await management.run("get oak graceful --no-headers")).toMatch(/ Terminating +(9m\d+s|10m) /);
    expect(await management.run("get oak graceful -o jsonpath={.spec.user}")).toBe("admin");
    const graceful = await withToken("graceful.kubeconfig", management, key);
    await graceful.run("get cluster embedded");
    await management.run("delete oak graceful --grace-period=3 --timeout=60s");
    expect(await management.fails("get oak graceful")).toContain("NotFound");
    expect(await graceful.fails("get cluster embedded")).toContain("platform access key not found");
    await create("at-once");
    await management.run("delete oak at-once --timeout=60s");
    expect(await management.fails("get oak at-once")).toContain("NotFound");
  });

  it("knows the resources of the platform by their short names, and prints what they are about", async () => {
    // Its thread starts beside the server.
    await management.run("wait vci/demo -n p-default --for condition=Ready --timeout 60s");
    expect(await management.run("get vci -n p-default")).toMatch(
      /^NAME +CLUSTER +PHASE +VERSION +STORED +AGE\ndemo +embedded +Ready +v1\.\S+ +\d+[KM]i\/\d+Mi +\d+\w+\n$/,
    );
    expect(await management.run("get proj,users,clusters")).toMatch(
      /project\.management\.postern\/default +Default +Ready/,
    );
    expect(await management.run("get users")).toMatch(
      /^NAME +KIND +DISPLAY NAME +EMAIL +LOCKED +KEYS +AGE\nadmin +Person +Administrator +false +/,
    );
    expect(await management.run("get spi -A -o name")).toBe("");
    const scope = { projects: [{ project: "default" }], clusters: [{ cluster: "embedded" }] };
    const spec = { ttl: 7200, scope };
    const key = JSON.parse(
      await management.run(
        "create -o json -f -",
        JSON.stringify({ apiVersion: MANAGEMENT, kind: "OwnedAccessKey", metadata: { name: "short" }, spec }),
      ),
    );
    const row = () => management.run("get oak short --no-headers");
    expect(await management.run("get oak short")).toMatch(
      /^NAME +OWNER +SCOPE +DISABLED +STATUS +EXPIRES +LAST USED +AGE\nshort +user\/admin +projects:1,clusters:1 +false +Ready +(119m|120m|2h) +never +\d+s\n$/,
    );
    const withKey = await withToken("short.kubeconfig", management, key.spec.key);
    await withKey.run("get cluster embedded");
    // Uses are written down once a minute, and when the server stops.
    if (storeName !== "memory") {
      expect(await restart()).toBe(0);
      expect(await row()).toMatch(/ (11\dm|120m|2h) +\d+s +\d+m?\d*s?\n$/);
    }
    expect(await management.run("get ak short -o wide")).toMatch(
      /^short +user\/admin +(User)? +projects:1,clusters:1 +false/m,
    );
    expect(await management.run("explain vci.spec.clusterRef")).toContain("DESCRIPTION:");
  });
});
