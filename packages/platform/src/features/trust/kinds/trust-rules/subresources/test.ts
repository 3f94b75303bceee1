// POST (cluster)trustrules/{name}/test: which conditions of the rule a token meets. Nothing is issued, and the token is not stored.

import type { PlatformNames } from "@postern/api/platform-names";
import { type TrustTest, trustTestSchema } from "@postern/api/trust-rule";
import { notFoundError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { Subresource } from "@postern/apiserver/registry/resource-definition";
import { decodeToken, TokenError, type UnverifiedToken } from "../../../../../foundation/issuers/signed-token.ts";
import type { Trust } from "../../../feature.ts";
import { shownClaims, trustRuleId } from "../../../trust-rule-state.ts";

export const testToken = ({ managementGroup }: PlatformNames, { rules, verifier }: Trust): Subresource => ({
  name: "test",
  kind: { group: managementGroup, version: "v1", kind: "TrustTest" },
  schema: trustTestSchema,
  description: "Tests a token against the rule, without issuing a key.",
  async create({ info: { namespace, name, resource }, outside }, body) {
    const rule = rules.get(trustRuleId(namespace, name));
    if (rule === undefined) throw notFoundError({ group: managementGroup, resource }, name);
    // The schema of the kind has checked it.
    const { spec } = body as TrustTest;
    const answer = (status: NonNullable<TrustTest["status"]>): KubeObject => ({
      apiVersion: body.apiVersion,
      kind: body.kind,
      metadata: { name, ...(namespace === "" ? {} : { namespace }) },
      // The token is not sent back.
      spec: { token: "" },
      status,
    });
    let token: UnverifiedToken;
    try {
      token = decodeToken(spec.token);
    } catch (error) {
      if (!(error instanceof TokenError)) throw error;
      return answer({
        accepted: false,
        checks: [{ type: "Token", field: "", status: "False", message: error.message }],
      });
    }
    const checks = await verifier.checksOf(token, rule, outside);
    return answer({
      accepted: checks.every(({ status }) => status === "True"),
      checks: checks.map((check) => ({ ...check })),
      claims: shownClaims(token.claims),
    });
  },
});
