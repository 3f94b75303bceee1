import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { CATALOGUE_ENTRIES } from "./catalogue.ts";
import { type ConfigurationDeps, defaultConfiguration, loadConfiguration } from "./configuration.ts";
import { ConfigurationError } from "./configuration-error.ts";
import { renderReference } from "./reference.ts";

const directory = mkdtempSync(join(tmpdir(), "postern-config-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

let files = 0;
function configFile(text: string): string {
  const path = join(directory, `config-${files++}.yaml`);
  writeFileSync(path, text);
  return path;
}

type Sources = Omit<ConfigurationDeps, "workingDirectory" | "flags"> & { flags?: Record<string, string | string[]> };
const load = ({ flags = {}, ...sources }: Sources = {}) =>
  loadConfiguration({ ...sources, flags: new Map(Object.entries(flags)), workingDirectory: "/srv/postern" });

async function refusal(sources: Sources): Promise<string> {
  const error = await load(sources).then(
    () => expect.unreachable("it was accepted"),
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(ConfigurationError);
  const { message } = error as ConfigurationError;
  expect(message).not.toContain("\n");
  return message;
}

describe("the configuration", () => {
  it("has defaults for everything", async () => {
    const configuration = await load();
    expect(configuration).toEqual(defaultConfiguration("/srv/postern"));
    expect(configuration).toMatchObject({
      dataDir: "/srv/postern/data",
      bindAddress: "127.0.0.1",
      securePort: 8443,
      serverKeyFile: "/srv/postern/data/server.key",
      platform: { domain: "postern", name: "postern", projectNamespacePrefix: "p-" },
      accessKeys: { maxTTLSeconds: 0 },
      customResources: { enabled: false },
      kubeConfig: { proxyFallback: false },
      audit: { logPath: "/srv/postern/data/audit.log" },
      store: { kind: "sqlite", path: "/srv/postern/data/postern.db" },
    });
  });

  it("weighs flag over environment over file over default", async () => {
    const sources = {
      configFile: configFile("securePort: 1\nbindAddress: 10.0.0.1\nplatform:\n  domain: file.example\n"),
      environment: { POSTERN_SECURE_PORT: "2", POSTERN_BIND_ADDRESS: "10.0.0.2" },
      flags: { "secure-port": "3" },
    };
    expect(await load(sources)).toMatchObject({
      securePort: 3,
      bindAddress: "10.0.0.2",
      platform: { domain: "file.example", name: "file" },
    });
  });

  it("takes the file's name from the environment, and the flag's first", async () => {
    const environment = { POSTERN_CONFIG: configFile("securePort: 1") };
    expect((await load({ environment })).securePort).toBe(1);
    expect((await load({ environment, configFile: configFile("securePort: 2") })).securePort).toBe(2);
  });

  it("takes flag names and nested keys in the file", async () => {
    const text =
      'secure-port: "9443"\naudit-log-maxsize: 7\nkubeConfig: { proxyFallback: true }\ntlsSans: [a.example, 10.0.0.9]\n';
    expect(await load({ configFile: configFile(text) })).toMatchObject({
      securePort: 9443,
      audit: { logMaxSize: 7 },
      kubeConfig: { proxyFallback: true },
      tlsSans: ["a.example", "10.0.0.9"],
    });
  });

  it.each(["", "# nothing\n", "platform:\n"])("takes a file without options: %j", async (text) => {
    expect(await load({ configFile: configFile(text) })).toEqual(defaultConfiguration("/srv/postern"));
  });

  it("derives from the data directory and the domain what is not given", async () => {
    expect(await load({ flags: { "data-dir": "/var/lib/x", "platform-domain": "loft.sh" } })).toMatchObject({
      platform: { name: "loft" },
      serverKeyFile: "/var/lib/x/server.key",
      store: { path: "/var/lib/x/postern.db" },
    });
  });

  it("refuses names of another cluster that begin as the platform's own", async () => {
    const own = { "platform-domain": "loft.sh", "requestheader-prefix": "loft:" };
    expect((await load({ flags: own })).frontProxy.clientCAFile).toBe("");
    const flags = { ...own, "requestheader-client-ca-file": "ca.pem" };
    expect(await refusal({ flags })).toContain("is the beginning of the platform's own names");
    const other = await load({ flags: { ...flags, "requestheader-prefix": "postern:" } });
    expect(other.frontProxy).toMatchObject({ clientCAFile: "/srv/postern/ca.pem", prefix: "postern:" });
  });

  it.each([
    ["memory", { kind: "memory" }],
    ["sqlite:x.db", { kind: "sqlite", path: "/srv/postern/x.db" }],
    ["etcd://a:2379,[::1]:2379", { kind: "etcd", endpoints: ["a:2379", "[::1]:2379"] }],
  ])("reads the store %s", async (store, expected) => {
    expect((await load({ flags: { store } })).store).toEqual(expected);
  });

  it.each([
    ["requestheader-prefix", "system:"],
    ["requestheader-prefix", "po"],
    ["requestheader-prefix", ""],
    ["requestheader-prefix", "a:b:"],
    ["requestheader-allowed-names", ""],
    ["requestheader-username-headers", "Authorization"],
    ["requestheader-group-headers", "X-Remote-Group,Impersonate-Group"],
    ["requestheader-extra-headers-prefix", "X-Remote-Extra"],
    ["secure-port", "65536"],
    ["secure-port", "-1"],
    ["secure-port", "80x"],
    ["secure-port", "1e3"],
    ["secure-port", ""],
    ["bind-address", "localhost"],
    ["data-dir", " "],
    ["platform-domain", "Loft.SH"],
    ["platform-name", "a:b"],
    ["project-namespace-prefix", "-"],
    ["external-hostname", "https://x"],
    ["external-hostname", "x:0"],
    ["tls-san", "a.example,b c"],
    ["access-key-max-ttl-seconds", "1h"],
    ["kube-config-proxy-fallback", "yes"],
    ["log-level", "loud"],
    ["goaway-chance", "0.03"],
    ["goaway-chance", "-0.01"],
    ["goaway-chance", "1e3"],
    ["goaway-chance", "."],
    ["store", "postgres"],
    ["store", "etcd://a"],
  ])("refuses --%s %j and names it", async (flag, value) => {
    expect(await refusal({ flags: { [flag]: value } })).toMatch(new RegExp(`^--${flag} must `));
  });

  it.each([
    ["0.001", 0.001],
    [".02", 0.02],
    ["1e-05", 0.00001],
    ["0", 0],
  ])("takes --goaway-chance %s, as kube-apiserver does", async (text, chance) => {
    expect((await load({ flags: { "goaway-chance": text } })).goawayChance).toBe(chance);
    expect((await load({ configFile: configFile(`goawayChance: ${text}`) })).goawayChance).toBe(chance);
  });

  it("names the place of a wrong value", async () => {
    expect(await refusal({ environment: { POSTERN_SECURE_PORT: "x" } })).toBe(
      'POSTERN_SECURE_PORT must be a whole number from 0 to 65535, not "x"',
    );
    const path = configFile("securePort: x");
    expect(await refusal({ configFile: path })).toBe(
      `${path}: securePort must be a whole number from 0 to 65535, not "x"`,
    );
  });

  it.each([
    ["an unknown key", "securePrt: 1", /unknown option securePrt \(did you mean "securePort"\?\)/],
    [
      "an unknown nested key",
      "platform: { domian: x }",
      /unknown option platform\.domian \(did you mean "platform\.domain"\?\)/,
    ],
    ["a key like nothing known", "zzzzzzzzzz: 1", /unknown option zzzzzzzzzz: correct or remove it/],
    ["a key given twice", "securePort: 1\nsecurePort: 2", /:2 is not valid YAML: Map keys must be unique/],
    ["an option given by both names", "securePort: 1\nsecure-port: 2", /securePort is set twice/],
    ["an option without value", "securePort:", /securePort must be a single value or a list/],
    ["a mapping for an option", "securePort: { a: 1 }", /securePort must be a single value or a list/],
    ["a list for a single option", "securePort: [1, 2]", /securePort must be one value/],
    ["a text for a group", "platform: x", /platform must be a mapping/],
    ["a list", "- securePort", /the file must be a mapping/],
    ["broken YAML", "securePort: [1", /is not valid YAML/],
    ["tabs", "platform:\n\tdomain: x", /is not valid YAML/],
    ["an anchor that is not there", "securePort: *x", /is not valid YAML|must be a single value/],
  ])("refuses a file with %s", async (_, text, message) => {
    expect(await refusal({ configFile: configFile(text) })).toMatch(message);
  });

  it("refuses a file that is not there", async () => {
    expect(await refusal({ configFile: "/nowhere/postern.yaml" })).toMatch(
      /\/nowhere\/postern\.yaml \(ENOENT\).*--config/,
    );
  });

  it("refuses unknown flags and variables with the likely name", async () => {
    expect(await refusal({ flags: { "secure-prt": "1" } })).toBe(
      'unknown flag --secure-prt (did you mean "secure-port"?)',
    );
    expect(await refusal({ environment: { POSTERN_DATADIR: "x" } })).toMatch(
      /POSTERN_DATADIR \(did you mean "POSTERN_DATA_DIR"\?\)/,
    );
  });

  it("has the variables of the HTTP proxy, and no others", async () => {
    const proxy = { HTTPS_PROXY: "http://proxy.example:3128", no_proxy: "10.0.0.0/8" };
    const { proxyEnvironment } = await load({ environment: { ...proxy, HOME: "/root" } });
    expect(proxyEnvironment).toEqual(proxy);
    expect((await load({})).proxyEnvironment).toEqual({});
  });

  it("leaves variables alone that name a platform for commands", async () => {
    const environment = {
      POSTERN_URL: "https://postern.example.com",
      POSTERN_TOKEN: "pst_a",
      POSTERN_CA: "ca.crt",
      POSTERN_TRUST_RULE: "*",
      POSTERN_SECURE_PORT: "9443",
    };
    expect((await load({ environment })).securePort).toBe(9443);
  });

  it("leaves variables alone that Kubernetes sets for a Service of our name", async () => {
    const environment = {
      POSTERN_SERVICE_HOST: "10.0.0.1",
      POSTERN_SERVICE_PORT: "443",
      POSTERN_SERVICE_PORT_HTTPS: "443",
      POSTERN_PORT: "tcp://10.0.0.1:443",
      POSTERN_PORT_443_TCP: "tcp://10.0.0.1:443",
      POSTERN_PORT_443_TCP_ADDR: "10.0.0.1",
      POSTERN_METRICS_PORT: "tcp://10.0.0.1:443",
      PATH: "/bin",
      POSTERN_SECURE_PORT: "",
    };
    expect((await load({ environment })).securePort).toBe(8443);
    expect(await refusal({ environment: { POSTERN_SECUR_PORT: "1" } })).toMatch(/did you mean "POSTERN_SECURE_PORT"/);
  });

  it.each([
    ["access-key-notice-lead-times", "7", /must contain times such as 7d/],
    ["access-key-notice-lead-times", "7d,0h", /"0h" is none/],
    ["access-key-notice-lead-times", "367d", /up to 366d/],
    ["access-key-notice-lead-times", "1m,2m,3m,4m,5m,6m,7m,8m,9m,10m,11m", /at most 10/],
    ["notice-webhook-url", "ftp://hooks.example.test", /must be an http or https URL$/],
    ["notice-webhook-url", "https://a:b@hooks.example.test", /must not contain a user name or password$/],
    ["notice-webhook-url", "https://hooks.example.test/#a", /must not have a fragment$/],
    ["notice-webhook-url", "https://hooks.example.test", /belong together/],
    ["notice-webhook-secret-file", "secret", /belong together/],
    ["notice-webhook-allowed-addresses", "example.test", /networks/],
  ])("refuses --%s %j, without repeating a URL", async (flag, value, message) => {
    const text = await refusal({ flags: { [flag]: value } });
    expect(text).toMatch(message);
    if (value.includes("//")) expect(text).not.toContain(value);
  });

  it("takes lead times in any unit, and none", async () => {
    const leadTimes = async (value: string) =>
      (await load({ flags: { "access-key-notice-lead-times": value } })).notices.leadTimes;
    expect(await leadTimes("30d,12h,45m")).toEqual(["30d", "12h", "45m"]);
    expect(await leadTimes("")).toEqual([]);
  });

  it("refuses half a key pair and a default life beyond the longest", async () => {
    expect(await refusal({ flags: { "tls-cert-file": "x" } })).toMatch(/belong together/);
    expect(
      await refusal({ flags: { "access-key-default-ttl-seconds": "20", "access-key-max-ttl-seconds": "10" } }),
    ).toMatch(/longer than/);
    expect(
      await refusal({ flags: { "access-key-machine-default-ttl-seconds": "20", "access-key-max-ttl-seconds": "10" } }),
    ).toMatch(/longer than/);
  });
});

describe("the catalogue", () => {
  it("names every option once", () => {
    for (const names of [
      CATALOGUE_ENTRIES.map(({ option }) => option.flag),
      CATALOGUE_ENTRIES.map(({ path }) => path),
      CATALOGUE_ENTRIES.map(({ environmentName }) => environmentName),
    ]) {
      expect(new Set(names).size).toBe(names.length);
    }
  });

  it("is what docs/reference/configuration.md says (else run tools/generate-config-reference.ts)", () => {
    const page = readFileSync(new URL("../../../../../docs/reference/configuration.md", import.meta.url), "utf8");
    expect(page).toBe(renderReference());
  });
});
