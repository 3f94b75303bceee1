// Asks the server which conditions of a trust rule a token meets. No key is issued.

import "./trust-texts.ts";
import type { TrustTest } from "@postern/api/trust-rule";
import { createResourceClient, type ResourceAddress } from "@postern/client/resource-client";
import { useApi } from "../../api/api-context.tsx";
import { useMay } from "../../api/use-may.ts";
import { Section } from "../../components/page-head.tsx";
import { WhyNot } from "../../components/refusals/why-not.tsx";
import { t } from "../../texts/text.tsx";
import { TestForm } from "./test-form.tsx";

export function TestToken({ address, name }: { readonly address: ResourceAddress; readonly name: string }) {
  const { client } = useApi();
  const right = useMay({
    verb: "create",
    resource: address.resource,
    subresource: "test",
    name,
    ...(address.namespace === undefined ? {} : { namespace: address.namespace }),
  });
  const ask = async (token: string): Promise<NonNullable<TrustTest["status"]>> => {
    // The kind has this shape: see its schema in the API.
    const body = { kind: "TrustTest", spec: { token } };
    const { status } = (await createResourceClient(client, address).createSubresource(name, "test", body)) as TrustTest;
    return status ?? {};
  };
  return (
    <Section title={t("trust.test.title")} lead={t("trust.test.lead")}>
      <WhyNot right={right} />
      {right.isAllowed && (
        <TestForm
          label={t("trust.test.token")}
          hint={t("trust.test.hint")}
          submit={t("trust.test.submit")}
          isCard
          isRequired
          ask={ask}
          words={(isAccepted) => t(isAccepted ? "trust.test.accepted" : "trust.test.refused")}
        >
          {({ claims = {} }) => <Claims claims={claims} />}
        </TestForm>
      )}
    </Section>
  );
}

function Claims({ claims }: { readonly claims: NonNullable<NonNullable<TrustTest["status"]>["claims"]> }) {
  const all = Object.entries(claims);
  if (all.length === 0) return null;
  return (
    <details className="aside">
      <summary>{t("trust.test.claims")}</summary>
      <ul className="lines">
        {all.map(([claim, value]) => (
          <li key={claim}>
            <code>{claim}</code>
            <span className="mono">{value}</span>
          </li>
        ))}
      </ul>
    </details>
  );
}
