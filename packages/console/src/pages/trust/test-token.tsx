// Asks the server which conditions of a trust rule a token meets. No key is issued, and the token stays in this form.

import type { TrustTest } from "@postern/api/trust-rule";
import { createResourceClient, type ResourceAddress } from "@postern/client/resource-client";
import { useMutation } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { useApi } from "../../api/api-context.tsx";
import { managementVersion } from "../../api/resources.ts";
import { useMay } from "../../api/use-may.ts";
import { Badge } from "../../components/badge.tsx";
import { Button } from "../../components/button.tsx";
import { ErrorNotice } from "../../components/notice.tsx";
import { Section } from "../../components/page-head.tsx";
import { TextField } from "../../components/text-field.tsx";
import { WhyNot } from "../../components/why-not.tsx";
import { t } from "../../texts/text.tsx";
import { CheckList } from "./check-list.tsx";

export function TestToken({ address, name }: { readonly address: ResourceAddress; readonly name: string }) {
  const { client } = useApi();
  const right = useMay({
    verb: "create",
    resource: address.resource,
    subresource: "test",
    name,
    ...(address.namespace === undefined ? {} : { namespace: address.namespace }),
  });
  const [token, setToken] = useState("");
  const test = useMutation({
    gcTime: 0,
    async mutationFn() {
      const body = { apiVersion: managementVersion, kind: "TrustTest", metadata: {}, spec: { token: token.trim() } };
      const rules = createResourceClient(client, address);
      // The kind has this shape: see its schema in the API.
      const { status } = (await rules.createSubresource(name, "test", body)) as TrustTest;
      return status ?? {};
    },
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    test.mutate();
  };
  return (
    <Section title={t("trust.test.title")} lead={t("trust.test.lead")}>
      <WhyNot right={right} />
      {right.isAllowed && (
        <form className="form card narrow" onSubmit={submit}>
          <TextField
            label={t("trust.test.token")}
            value={token}
            onChange={(value) => {
              test.reset();
              setToken(value);
            }}
            isMultiline
            isMonospace
            autoComplete="off"
            description={t("trust.test.hint")}
          />
          <div>
            <Button type="submit" isPending={test.isPending} isDisabled={token.trim() === ""}>
              {t("trust.test.submit")}
            </Button>
          </div>
          <div aria-live="polite" className="stack">
            {test.isError && <ErrorNotice error={test.error} />}
            {test.data !== undefined && <VerdictView verdict={test.data} />}
          </div>
        </form>
      )}
    </Section>
  );
}

function VerdictView({
  verdict: { accepted = false, checks = [], claims = {} },
}: {
  readonly verdict: NonNullable<TrustTest["status"]>;
}) {
  return (
    <>
      <p>
        <Badge tone={accepted ? "good" : "bad"}>{accepted ? t("trust.test.accepted") : t("trust.test.refused")}</Badge>
      </p>
      <CheckList checks={checks} />
      {Object.keys(claims).length > 0 && (
        <details className="aside">
          <summary>{t("trust.test.claims")}</summary>
          <ul className="lines">
            {Object.entries(claims).map(([claim, value]) => (
              <li key={claim}>
                <code>{claim}</code>
                <span className="mono">{value}</span>
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}
