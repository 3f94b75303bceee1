import { generateKeyPairSync, hkdfSync, randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createAccessKeyFormat } from "@postern/platform/features/access-keys/secrets/access-key-format";
import { deriveServerKeys } from "@postern/platform/foundation/store/server-keys";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { findLeaks } from "./find-leaks.ts";
import { PLANTED } from "./keep-files.ts";
import { createRunFolders, createRunRecorder, type RunRecorder, temporaryFolder } from "./run-record.ts";

const KEYS = "/apis/management.postern/v1/ownedaccesskeys";
const DEMO = "/apis/management.postern/v1/namespaces/p/virtualclusterinstances/demo";
const { generate } = createAccessKeyFormat("postern");
const newKey = () => generate({ bytes: (count) => randomBytes(count) });

let folder: string;
let recorder: RunRecorder;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), PLANTED));
  createRunFolders(folder);
  recorder = createRunRecorder(folder);
});
afterEach(() => rmSync(folder, { recursive: true }));

const answer = (place: string, content: unknown) =>
  recorder.write("answer", place, Buffer.from(typeof content === "string" ? content : JSON.stringify(content)));
const file = (name: string, content: string | Uint8Array) =>
  writeFileSync(join(temporaryFolder(folder), name), content);
const leaks = () => findLeaks(folder).leaks;
const places = () => leaks().map((leak) => leak.replace(/.* in /, ""));
const base64 = (text: string) => Buffer.from(text).toString("base64");

describe("the record of a run", () => {
  it("shows an access key in the answer that hands it out, and nowhere else", () => {
    const { id, value } = newKey();
    answer(`POST ${KEYS}?fieldManager=x 201`, { spec: { key: value } });
    answer(`GET ${KEYS}/k 200`, { metadata: { name: id } });
    file("audit.log", `{"credential":"${id}"}`);
    expect(leaks()).toEqual([]);
    const what = `access key ${id} (POST ${KEYS}?fieldManager=x 201)`;

    answer(`GET ${KEYS}/k 200`, { metadata: { annotations: { note: value.slice(20) } } });
    answer(`POST ${KEYS}?dryRun=All 201`, Buffer.from(value).toString("base64"));
    answer(`POST ${KEYS} 409`, value);
    recorder.write("output", "postern serve", Buffer.from(`{"level":"error","key":"${value.slice(0, -8)}"}`));
    file("postern.db-wal", Buffer.concat([randomBytes(100_000), Buffer.from(value)]));
    file("backup", Buffer.from(value).toString("hex"));
    expect(leaks()).toEqual([
      `${what} in GET ${KEYS}/k 200`,
      `${what} in POST ${KEYS}?dryRun=All 201`,
      `${what} in POST ${KEYS} 409`,
      `${what} in postern serve`,
      `${what} in the file backup`,
      `${what} in the file postern.db-wal`,
    ]);
  });

  it("leaves out programs, but neither memory images of processes nor what only begins like one", () => {
    const { id, value } = newKey();
    answer(`POST ${KEYS} 201`, { spec: { key: value } });
    const elf = (type: number): Buffer => {
      const head = Buffer.alloc(64);
      head.write("\x7fELF");
      head.writeUInt16LE(type, 16);
      return Buffer.concat([head, Buffer.from(value)]);
    };
    for (const [type, name] of ["none", "relocatable", "executable", "shared", "core"].entries()) file(name, elf(type));
    file("note", `\x7fELF${value}`);
    const what = `access key ${id} (POST ${KEYS} 201)`;
    expect(leaks().toSorted()).toEqual(
      ["core", "none", "note", "relocatable"].map((name) => `${what} in the file ${name}`),
    );
  });

  it("shows an access key in the data of the Secret that the server made for it, and nowhere else of it", () => {
    const { id, value } = newKey();
    const data = { key: base64(value) };
    const annotations = { "postern/access-key-uid": "1" };
    answer(`POST ${KEYS} 201`, { spec: { key: value } });
    answer("GET /api/v1/namespaces/a/secrets/s 200", { metadata: { annotations }, data });
    answer("GET /api/v1/namespaces/a/secrets 200", { items: [{ metadata: { annotations }, data }] });
    expect(leaks()).toEqual([]);

    const what = `access key ${id} (POST ${KEYS} 201)`;
    answer("GET /api/v1/namespaces/a/secrets/other 200", { metadata: {}, data });
    answer("GET /api/v1/namespaces/a/configmaps/c 200", { metadata: { annotations }, data });
    answer("GET /api/v1/namespaces/a/secrets/noted 200", {
      metadata: { annotations: { ...annotations, note: value } },
      data,
    });
    answer(`PATCH ${KEYS}/k?fieldManager=x 201`, { spec: { key: value } });
    expect(leaks()).toEqual([
      `${what} in GET /api/v1/namespaces/a/secrets/other 200`,
      `${what} in GET /api/v1/namespaces/a/configmaps/c 200`,
      `${what} in GET /api/v1/namespaces/a/secrets/noted 200`,
      `${what} in PATCH ${KEYS}/k?fieldManager=x 201`,
    ]);
  });

  it("shows no second key beside the one that is handed out, and that one only in its field", () => {
    const [mine, other, third] = [newKey(), newKey(), newKey()];
    answer(`POST ${KEYS} 201`, { spec: { key: mine.value }, status: { note: other.value } });
    answer(`POST ${DEMO}/kubeconfig 201`, { status: { kubeConfig: `token: ${other.value}\ntoken: ${third.value}` } });
    answer(`POST ${KEYS}/k/rotate 201`, { status: { note: third.value } });
    expect(places()).toEqual([
      `POST ${KEYS} 201`,
      ...Array(2).fill(`POST ${DEMO}/kubeconfig 201`),
      `POST ${KEYS}/k/rotate 201`,
    ]);
  });

  it("hands no key out a second time, but where it is asked for again", () => {
    const { value } = newKey();
    answer(`POST ${KEYS} 201`, { spec: { key: value } });
    answer(`GET ${DEMO}/accesskey 200`, { accessKey: value });
    expect(leaks()).toEqual([]);
    answer(`POST ${DEMO}/kubeconfig 201`, `status:\n  kubeConfig: "token: ${value}"\n`);
    expect(places()).toEqual([`POST ${DEMO}/kubeconfig 201`]);
  });

  it("allows in a Secret what was put into one, and no more", () => {
    const [put, piped, other] = [newKey(), newKey(), newKey()];
    for (const { value } of [put, piped, other]) answer(`POST ${KEYS} 201`, { spec: { key: value } });
    const data = ({ value }: { value: string }) => ({ data: { token: Buffer.from(value).toString("base64") } });
    recorder.write("request", "POST /api/v1/namespaces/a/secrets", Buffer.from(JSON.stringify(data(put))));
    recorder.write("input", "kubectl create -f -", Buffer.from(JSON.stringify({ kind: "Secret", ...data(piped) })));
    recorder.write("input", "kubectl apply -f -", Buffer.from(JSON.stringify({ kind: "ConfigMap", ...data(other) })));
    answer("GET /api/v1/namespaces/a/secrets 200", { items: [data(put), data(piped)] });
    expect(leaks()).toEqual([]);
    answer("GET /api/v1/namespaces/a/configmaps 200", { items: [data(put)] });
    answer("GET /api/v1/namespaces/a/secrets?watch=1 200", { items: [data(put), data(other)] });
    expect(places()).toEqual([
      "GET /api/v1/namespaces/a/configmaps 200",
      "GET /api/v1/namespaces/a/secrets?watch=1 200",
    ]);
  });

  it("shows in a review the token that was sent for one", () => {
    const [sent, other] = [newKey(), newKey()];
    const review = "POST /apis/authentication.k8s.io/v1/tokenreviews";
    recorder.write("request", review, Buffer.from(JSON.stringify({ spec: { token: sent.value } })));
    answer(`${review} 201`, { spec: { token: sent.value } });
    expect(leaks()).toEqual([]);
    answer(`${review} 201`, { status: { error: other.value } });
    expect(leaks()).toHaveLength(1);
  });

  it("allows kubectl to show the credential of its kubeconfig", () => {
    const [mine, other] = [newKey(), newKey()];
    const command = "kubectl --kubeconfig /a/b.kubeconfig config view --raw";
    recorder.write("input", command, Buffer.from(`token: ${mine.value}`));
    recorder.write("output", command, Buffer.from(`token: ${mine.value}`));
    expect(leaks()).toEqual([]);
    recorder.write("output", `${command} (errors)`, Buffer.from(mine.value));
    recorder.write("output", command, Buffer.from(`token: ${other.value}`));
    expect(places()).toEqual([`${command} (errors)`, command]);
  });

  it("keeps in a file for one secret just that one, of its kind and in its place", () => {
    const [mine, other] = [newKey(), newKey()];
    const pem = generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }).toString();
    file("good.key", pem);
    file("good.kubeconfig", `users:\n- user:\n    token: ${mine.value}\n    client-key-data: ${base64(pem)}\n`);
    expect(leaks()).toEqual([]);
    file("bad.key", mine.value);
    file("two.kubeconfig", `token: ${mine.value}${other.value}`);
    file("noted.kubeconfig", `token: ${mine.value}\n# ${other.value}\n`);
    expect(new Set(places())).toEqual(
      new Set(["the file bad.key", "the file two.kubeconfig", "the file noted.kubeconfig"]),
    );
  });

  it("finds chosen values, wherever they were in the request", () => {
    const values = ["chosen-value-in-an-object-0123", "chosen value in a patch 0123", "chosen-value-in-yaml-0123456"];
    recorder.write("request", `POST ${KEYS}`, Buffer.from(JSON.stringify({ spec: { key: values[0] } })));
    recorder.write(
      "request",
      `PATCH ${KEYS}/k`,
      Buffer.from(JSON.stringify([{ path: "/spec/key", value: values[1] }])),
    );
    recorder.write("request", `PATCH ${KEYS}/l`, Buffer.from(`spec:\n  key: ${values[2]}\n`));
    answer(`PATCH ${KEYS}/k 422`, "chosen-value-in-an-obj");
    expect(leaks()).toEqual([]);
    answer(`PATCH ${KEYS}/k 422`, values);
    expect(leaks()).toEqual([
      `key that was sent (POST ${KEYS}) in PATCH ${KEYS}/k 422`,
      `key that was sent (PATCH ${KEYS}/k) in PATCH ${KEYS}/k 422`,
      `key that was sent (PATCH ${KEYS}/l) in PATCH ${KEYS}/k 422`,
    ]);
  });

  it.each(["ec", "ed25519"] as const)(
    "knows a private key again by itself, in its file and in what a kubeconfig makes of it: %s",
    (type) => {
      const { privateKey, publicKey } =
        type === "ec" ? generateKeyPairSync("ec", { namedCurve: "P-256" }) : generateKeyPairSync("ed25519");
      const pem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
      const kubeConfig = `client-key-data: ${Buffer.from(pem).toString("base64")}`;
      answer(`POST ${DEMO}/kubeconfig 201`, { status: { kubeConfig } });
      answer("GET /public 200", publicKey.export({ type: "spki", format: "pem" }).toString());
      expect(leaks()).toEqual([]);
      answer("GET /a 200", kubeConfig);
      answer("GET /b 200", pem);
      answer("GET /c 200", pem.replaceAll("\n", "\\n"));
      file("d", privateKey.export({ type: "pkcs8", format: "der" }));
      expect(leaks().map((leak) => leak.replace(/.* in /, ""))).toEqual([
        "GET /a 200",
        "GET /b 200",
        "GET /c 200",
        "the file d",
      ]);
    },
  );

  it("knows the tokens of service accounts, and what a server derives from its secret", () => {
    const token = ["eyJhbGciOiJFUzI1NiJ9", "eyJzdWIiOiJ4In0aaaa", randomBytes(64).toString("base64url")].join(".");
    answer("POST /api/v1/namespaces/a/serviceaccounts/b/token 201", { status: { token } });
    answer("GET /x 200", token);
    const secret = randomBytes(32);
    file("server.key", `${secret.toString("hex")}\n`);
    for (const key of Object.values(deriveServerKeys(secret))) file(`of-${key[0]}-${key[1]}`, key);
    file("unrelated", Buffer.from(hkdfSync("sha256", secret, "", "something else", 32)));
    const found = leaks();
    expect(found).toHaveLength(1 + Object.keys(deriveServerKeys(secret)).length);
    expect(found[0]).toContain("in GET /x 200");
  });
});
