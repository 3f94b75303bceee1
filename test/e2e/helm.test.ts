// The real helm, 3 and 4, against an embedded virtual cluster, with a token and with a client certificate: a release is installed, tested,
// upgraded, rolled back and uninstalled, and what others changed meanwhile is treated as helm treats it on kube-apiserver.

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isEveryReleaseChosen, kubernetesTools } from "./testing/kubernetes-tools.ts";
import { type OwnServer, startOwnServer } from "./testing/own-server.ts";
import { kubectlWith, postern, succeed, tool } from "./testing/postern-process.ts";

const CHART = new URL("testdata/shop-chart", import.meta.url).pathname;
const WAIT = ["--wait", "--timeout", "60s"];

let server: OwnServer;

beforeAll(async () => {
  server = await startOwnServer();
});
afterAll(() => server?.[Symbol.asyncDispose]());

const COMBINATIONS = [
  { release: "1.32", helm: "helm 3", credential: "token" },
  { release: "1.35", helm: "helm 4", credential: "certificate" },
] as const;
const BY_NIGHT = [
  { release: "1.32", helm: "helm 3", credential: "certificate" },
  { release: "1.35", helm: "helm 4", credential: "token" },
] as const;

describe.concurrent.each([...COMBINATIONS, ...(isEveryReleaseChosen() ? BY_NIGHT : [])])(
  "$helm with a $credential",
  ({ release, helm: name, credential }) => {
    it("installs, tests, upgrades, rolls back and uninstalls", async () => {
      const appliesOnServer = name === "helm 4";
      const namespace = `shop-${release.replace(".", "-")}-${credential}`;
      const config = join(server.directory, `${namespace}.kubeconfig`);
      const flags = credential === "certificate" ? ["--client-cert"] : [];
      const text = await succeed(postern("kubeconfig", "demo", ...flags, "--kubeconfig", server.adminKubeconfig));
      await writeFile(config, text, { mode: 0o600 });

      const tools = await kubernetesTools(release);
      // Helm's own files are removed with the test.
      const homes = ["CACHE", "CONFIG", "DATA"].map(
        (home) => `HELM_${home}_HOME=${join(server.directory, namespace, home)}`,
      );
      const helm = (...args: string[]) =>
        tool("env", [...homes, tools.helm, "--kubeconfig", config, "-n", namespace, ...args]);
      const run = kubectlWith(config, join(server.directory, namespace, "cache"), tools.kubectl);
      const kubectl = (line: string, input?: string) => succeed(run(["-n", namespace, ...line.split(" ")], input));
      const settings = async () => JSON.parse(await kubectl("get configmap shop-settings -o jsonpath={.data}"));
      const password = () => kubectl("get secret shop-password -o jsonpath={.data.password}");
      const configMaps = async () =>
        (await kubectl("get configmaps -o name"))
          .trim()
          .split("\n")
          .map((line) => line.split("/")[1]);
      const history = async () =>
        JSON.parse(await succeed(helm("history", "shop", "-o", "json"))).map(({ revision, status }: any) => [
          revision,
          status,
        ]);

      const notes = await succeed(helm("install", "shop", CHART, "--create-namespace", ...WAIT));
      expect(notes).toMatch(/STATUS: deployed[\s\S]*hello from shop on v1\.36\./);
      // A hook that has succeeded is gone where its policy says so.
      expect(await configMaps()).toEqual(["kube-root-ca.crt", "shop-kept", "shop-post-install", "shop-settings"]);
      if (credential === "certificate") {
        const asks = `auth can-i get configmaps/shop-settings --as system:serviceaccount:${namespace}:shop`;
        expect(await kubectl(asks)).toBe("yes\n");
      }
      const firstPassword = await password();
      expect(await succeed(helm("test", "shop"))).toMatch(/Phase: +Succeeded/);
      // The release is a Secret of its own type.
      expect(
        await kubectl("get secrets --field-selector type=helm.sh/release.v1 -l owner=helm,status=deployed -o name"),
      ).toBe("secret/sh.helm.release.v1.shop.v1\n");

      // A user adds a member and changes another: helm 3 restores the chart's value, helm 4 asks for `--force-conflicts`.
      await kubectl('patch configmap shop-settings --type merge -p {"data":{"mine":"kept","port":"1"}}');
      const upgrade = [
        "upgrade",
        "shop",
        CHART,
        "--set",
        "greeting=bonjour",
        "--set",
        "extra=false",
        "--set",
        "readers={alice,bob}",
        ...WAIT,
      ];
      if (appliesOnServer) {
        const { code, stderr } = await helm(...upgrade);
        expect([code, stderr]).toEqual([
          1,
          expect.stringContaining('conflict with "kubectl-patch" using v1: .data.port'),
        ]);
      }
      await succeed(helm(...upgrade, ...(appliesOnServer ? ["--force-conflicts"] : [])));
      expect(await settings()).toEqual({ greeting: "bonjour", mine: "kept", port: "8080" });
      expect(await kubectl("get rolebinding shop-readers -o jsonpath={.subjects[*].name}")).toBe("shop alice bob");
      // `lookup` has found the Secret of the first installation.
      expect(await password()).toBe(firstPassword);

      const rollBack = appliesOnServer ? "--rollback-on-failure" : "--atomic";
      const failed = await helm("upgrade", "shop", CHART, "--set", "fail=true", rollBack, "--timeout", "60s");
      expect(failed.code).toBe(1);
      expect(failed.stderr).toMatch(
        /UPGRADE FAILED[\s\S]*(\.data\.nested: expected string|ConfigMap\.data of type string)/,
      );
      expect(await settings()).toEqual({ greeting: "bonjour", mine: "kept", port: "8080" });
      expect(await configMaps()).not.toContain("shop-broken");

      await succeed(helm("rollback", "shop", "1", ...WAIT));
      expect(await settings()).toEqual({ extra: "yes", greeting: "hello", mine: "kept", port: "8080" });
      expect(await kubectl("get rolebinding shop-readers -o jsonpath={.subjects[*].name}")).toBe("shop alice");
      const before = appliesOnServer
        ? [
            [1, "superseded"],
            [2, "failed"],
            [3, "superseded"],
          ]
        : [
            [1, "superseded"],
            [2, "superseded"],
          ];
      const at = before.length;
      expect(await history()).toEqual([...before, [at + 1, "failed"], [at + 2, "superseded"], [at + 3, "deployed"]]);

      const dryRun = await succeed(
        helm("upgrade", "--install", "shop", CHART, "--dry-run=server", "--set", "greeting=dry"),
      );
      expect(dryRun).toContain(`password: ${firstPassword}`);
      expect(await settings()).toMatchObject({ greeting: "hello" });

      expect(await succeed(helm("uninstall", "shop", ...WAIT))).toContain("[ConfigMap] shop-kept");
      // Objects that the chart says to keep, and hooks that nothing has replaced, remain, as with kube-apiserver.
      expect(await configMaps()).toEqual([
        "kube-root-ca.crt",
        ...["kept", "post-delete", "post-install", "post-rollback", "test"].map((rest) => `shop-${rest}`),
      ]);
      expect(await kubectl("get secrets,roles,rolebindings,leases -o name")).toBe("");
      expect(await kubectl(`get clusterroles ${namespace}-shop --ignore-not-found -o name`)).toBe("");
      expect(JSON.parse(await succeed(helm("list", "-o", "json")))).toEqual([]);
      await kubectl(`delete namespace ${namespace}`);
    });
  },
);
