import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import type { IncomingHttpHeaders, RequestListener } from "node:http";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { manualTime } from "@postern/apiserver/runtime/testing/manual-time";
import { Webhook } from "standardwebhooks";
import { afterEach, describe, expect, it, onTestFinished } from "vitest";
import { createWorkspace, openssl, type Workspace } from "../../foundation/pki/testing/openssl.ts";
import { createAddressRules, LOCAL_TO_A_LINK, PRIVATE_NETWORKS } from "../../foundation/upstream/address-rules.ts";
import { serveUpstream } from "../proxy/testing/serve-upstream.ts";
import { createNoticeWebhook, NotDeliveredError, type NoticeWebhookDeps } from "./notice-webhook.ts";

type Received = { readonly method: string; readonly url: string; readonly headers: IncomingHttpHeaders; body: string };

let workspace: Workspace | undefined;
afterEach(() => workspace?.[Symbol.dispose]());

const newSecret = (): string => `whsec_${randomBytes(32).toString("base64")}`;
const never = new AbortController().signal;

/** A receiver on a real socket, and what it got. */
async function receiver(answer: RequestListener = (_, response) => response.end(), { plain = false } = {}) {
  const received: Received[] = [];
  const upstream = await serveUpstream(
    (request, response) => {
      const { method = "", url = "", headers } = request;
      const one: Received = { method, url, headers, body: "" };
      request.setEncoding("utf8").on("data", (chunk) => (one.body += chunk));
      request.on("end", () => {
        received.push(one);
        answer(request, response);
      });
    },
    { plain },
  );
  return { ...upstream, received };
}

async function webhookTo(
  { url, certificateAuthorityPem }: { readonly url: string; readonly certificateAuthorityPem: string },
  deps: Partial<NoticeWebhookDeps> & { readonly secret?: string } = {},
) {
  workspace = createWorkspace();
  const { secret = newSecret(), ...rest } = deps;
  const webhook = await createNoticeWebhook({
    url: `${url}/hooks?team=a%20b`,
    secretFile: workspace.write("secret", `${secret}\n`),
    caFile: url.startsWith("https:") ? workspace.write("ca.crt", certificateAuthorityPem) : "",
    timeoutMs: 5_000,
    addresses: createAddressRules({ refuse: PRIVATE_NETWORKS, allow: ["127.0.0.1"] }),
    runtime: systemRuntime,
    ...rest,
  });
  onTestFinished(() => webhook[Symbol.dispose]());
  return { webhook, secret };
}

const refusalOf = async (sending: Promise<void>): Promise<string> => {
  const error = await sending.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!(error instanceof NotDeliveredError)) throw new Error(`expected a NotDeliveredError, not ${error}`);
  return error.message;
};

describe("a webhook of notices", () => {
  it.each([false, true])("sends what the library of Standard Webhooks verifies (plain HTTP: %s)", async (plain) => {
    const target = await receiver(undefined, { plain });
    const { webhook, secret } = await webhookTo(target);
    const body = JSON.stringify({ type: "accesskey.expiring", data: { text: "naïve ☂" } });
    await webhook.send({ id: "one", body }, never);
    const [one] = target.received;
    expect(one).toMatchObject({ method: "POST", url: "/hooks?team=a%20b", body });
    expect(one?.headers).toMatchObject({ "content-type": "application/json", "webhook-id": "one" });
    const verifier = new Webhook(secret);
    expect(verifier.verify(one?.body ?? "", one?.headers as Record<string, string>)).toEqual(JSON.parse(body));
    expect(() => verifier.verify(`${one?.body} `, one?.headers as Record<string, string>)).toThrow();
    expect(() => new Webhook(newSecret()).verify(one?.body ?? "", one?.headers as Record<string, string>)).toThrow();
  });

  it("signs with every secret that the file contains now", async () => {
    const target = await receiver();
    const [old, next] = [newSecret(), newSecret()];
    const { webhook } = await webhookTo(target, { secret: old });
    writeFileSync(workspace?.path("secret") ?? "", `${next}\n${old}\n`);
    await webhook.send({ id: "one", body: "{}" }, never);
    const headers = target.received[0]?.headers as Record<string, string>;
    for (const secret of [old, next]) expect(new Webhook(secret).verify("{}", headers)).toEqual({});
  });

  it.each([300, 302, 400, 401, 410, 500, 503])("does not accept %s as a receipt", async (status) => {
    const elsewhere = await receiver();
    const target = await receiver((_, response) => response.writeHead(status, { location: elsewhere.url }).end("no"));
    const { webhook } = await webhookTo(target);
    expect(await refusalOf(webhook.send({ id: "one", body: "{}" }, never))).toContain(`answered ${status}`);
    expect(elsewhere.received).toEqual([]);
  });

  it("accepts an endless answer by its status", async () => {
    const target = await receiver((_, response) => {
      response.writeHead(200);
      const more = (): void => void (response.destroyed || response.write("x".repeat(16_384), more));
      more();
    });
    const { webhook } = await webhookTo(target);
    await webhook.send({ id: "one", body: "{}" }, never);
  });

  it("gives up on a receiver that does not answer in time", async () => {
    const time = manualTime();
    const target = await receiver(() => time.advance(5_000));
    const { webhook } = await webhookTo(target, { runtime: time });
    expect(await refusalOf(webhook.send({ id: "one", body: "{}" }, never))).toContain(
      "the webhook did not answer within",
    );
  });

  it("ends with its signal", async () => {
    const ending = new AbortController();
    const target = await receiver(() => ending.abort(new Error("no longer leading")));
    const { webhook } = await webhookTo(target);
    await expect(webhook.send({ id: "one", body: "{}" }, ending.signal)).rejects.toThrow("no longer leading");
  });

  it("does not trust a receiver without its CA", async () => {
    const target = await receiver();
    const { webhook } = await webhookTo(target, { caFile: "" });
    expect(await refusalOf(webhook.send({ id: "one", body: "{}" }, never))).toMatch(/certificate/);
    expect(target.received).toEqual([]);
  });

  it("trusts the CA that the file contains now", async () => {
    const target = await receiver();
    const files = createWorkspace();
    onTestFinished(() => files[Symbol.dispose]());
    const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", files.path("other.key")];
    const other = openssl("req", "-x509", "-subj", "/CN=other", ...key);
    const caFile = files.write("trusted.crt", target.certificateAuthorityPem);
    const { webhook } = await webhookTo(target, { caFile });
    await webhook.send({ id: "one", body: "{}" }, never);
    writeFileSync(caFile, other);
    expect(await refusalOf(webhook.send({ id: "two", body: "{}" }, never))).toMatch(/certificate/);
    writeFileSync(caFile, `${other}${target.certificateAuthorityPem}`);
    await webhook.send({ id: "three", body: "{}" }, never);
    writeFileSync(caFile, "");
    await expect(webhook.send({ id: "four", body: "{}" }, never)).rejects.toThrow("contains no certificate");
    expect(target.received.map(({ headers }) => headers["webhook-id"])).toEqual(["one", "three"]);
  });

  it("does not knock at private addresses, whichever name they hide behind", async () => {
    const target = await receiver();
    const refuse = [...LOCAL_TO_A_LINK, ...PRIVATE_NETWORKS];
    const addresses = createAddressRules({ refuse, option: "--notice-webhook-allowed-addresses" });
    const byAddress = await webhookTo(target, { addresses });
    expect(await refusalOf(byAddress.webhook.send({ id: "one", body: "{}" }, never))).toContain(
      "--notice-webhook-allowed-addresses",
    );
    const byName = await webhookTo(
      { ...target, url: `https://hooks.example.test:${target.port}` },
      { addresses, resolve: (_, __, callback) => callback(null, [{ address: "127.0.0.1", family: 4 }]) },
    );
    expect(await refusalOf(byName.webhook.send({ id: "one", body: "{}" }, never))).toContain("is not allowed");
    expect(target.accepted()).toBe(0);
  });

  it("logs nothing of its URL", async () => {
    const token = randomBytes(12).toString("hex");
    const target = await receiver((_, response) => response.writeHead(500).end(token));
    const { webhook } = await webhookTo(target, { url: `${target.url}/${token}` });
    expect(await refusalOf(webhook.send({ id: "one", body: "{}" }, never))).not.toContain(token);
  });

  it.each([
    ["nothing", ""],
    ["a short text", "short"],
    ["a short secret", `whsec_${randomBytes(8).toString("base64")}`],
    ["no base64", "whsec_!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!"],
    ["a bad second line", `${newSecret()}\nshort`],
  ])("does not begin with %s as its secret, and does not repeat it", async (_, secret) => {
    const refused = webhookTo({ url: "https://127.0.0.1:1", certificateAuthorityPem: "" }, { secret });
    await expect(refused).rejects.toThrow(/--notice-webhook-secret-file .* must contain/);
    if (secret !== "") await expect(refused).rejects.not.toThrow(secret);
  });

  it("names the missing file", async () => {
    const target = { url: "https://127.0.0.1:1", certificateAuthorityPem: "" };
    await expect(webhookTo(target, { secretFile: "/nowhere/secret" })).rejects.toThrow("/nowhere/secret");
    await expect(webhookTo(target, { caFile: "/nowhere/ca" })).rejects.toThrow("/nowhere/ca");
  });
});
