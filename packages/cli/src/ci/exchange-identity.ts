// Exchanges the identity token of a job or pod for an access key, by a trust rule.
// Source: RFC 8693

import { BUILD_INFO } from "@postern/apimachinery/build-info";
import { isJsonObject } from "@postern/apimachinery/json/json-value";
import { createNodeTransport, type NodeTransportOptions } from "@postern/client/transport/node";
import { accessKeyAt } from "../output/json-members.ts";
import { UsageError } from "../usage-error.ts";
import { readAnswer } from "./job-identity.ts";

export type IssuedKey = { readonly key: string; readonly seconds: number };

/**
 * `target`: the trust rule as RULE, PROJECT/RULE or PROJECT/*; undefined for the only one of the platform that accepts the token. Throws UsageError with
 * what the platform says.
 */
export async function exchangeIdentity(
  platform: NodeTransportOptions,
  token: string,
  target: string | undefined,
): Promise<IssuedKey> {
  await using transport = createNodeTransport(platform);
  const form = new URLSearchParams({
    grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
    subject_token: token,
    subject_token_type: "urn:ietf:params:oauth:token-type:jwt",
    ...(target === undefined ? {} : { audience: target }),
  });
  const response = await transport.send({
    method: "POST",
    path: "/oauth/token",
    headers: {
      "content-type": "application/x-www-form-urlencoded",
      accept: "application/json",
      "user-agent": `postern/${BUILD_INFO.version}`,
    },
    body: form.toString(),
  });
  const answer = await readAnswer(response);
  const { expires_in: seconds, error_description: why } = isJsonObject(answer) ? answer : {};
  const key = accessKeyAt(answer, "access_token");
  if (response.status === 200 && key !== "") return { key, seconds: Number(seconds) };
  const said = typeof why === "string" ? why : `it answered with code ${response.status}`;
  const by = target === undefined ? "" : ` by the trust rule ${target}`;
  throw new UsageError(`${platform.server} issued no access key${by}: ${said}`);
}
