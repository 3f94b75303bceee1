// Identity providers: with whom people sign in, and what the provider's side needs to know of this server.

import { createResourceClient } from "@postern/client/resource-client";
import { useState } from "react";
import { useApi } from "../api/api-context.tsx";
import { IDENTITY_PROVIDERS, type IdentityProvider, nameOf } from "../api/resources.ts";
import { useLive } from "../api/use-live.ts";
import { useMay } from "../api/use-may.ts";
import { Confirm } from "../components/confirm.tsx";
import { Code } from "../components/copy-text.tsx";
import { NewObjectLink } from "../components/new-object-link.tsx";
import { ObjectActions } from "../components/object-actions.tsx";
import { Button, EmptyState, ErrorNotice, Facts, Loading, PageHead, Section } from "../components/ui.tsx";
import { duration } from "../format/ages.ts";
import { t } from "../texts/text.tsx";
import { NotReady, ReadyBadge } from "./trust/trust-page.tsx";

/** As the server has it where the provider names none. */
const SESSION_SECONDS = 12 * 60 * 60;

export function ProvidersPage() {
  const { items, isLoading, error, retry } = useLive<IdentityProvider>(IDENTITY_PROVIDERS);
  return (
    <>
      <PageHead
        title={t("providers.title")}
        lead={t("providers.lead")}
        actions={<NewObjectLink to="/new/identity-provider" resource="identityproviders" label={t("provider.new")} />}
      />
      {error !== null && <ErrorNotice error={error} onRetry={retry} />}
      {isLoading && <Loading />}
      {!isLoading && error === null && items.length === 0 && (
        <EmptyState title={t("providers.empty.title")}>{t("providers.empty.text")}</EmptyState>
      )}
      {items.map((provider) => (
        <Provider key={provider.metadata.uid} provider={provider} />
      ))}
    </>
  );
}

function Provider({ provider }: { readonly provider: IdentityProvider }) {
  const name = nameOf(provider);
  const { spec = {}, status = {} } = provider;
  const { client } = useApi();
  const right = useMay({ verb: "update", resource: "identityproviders", name });
  const [isAsked, setAsked] = useState(false);
  const isDisabled = spec.disabled === true;
  const ready = status.conditions?.find(({ type }) => type === "Ready");
  return (
    <Section
      title={spec.displayName || name}
      lead={spec.description}
      actions={
        <>
          <Button isDisabled={!right.isAllowed} onPress={() => setAsked(true)}>
            {isDisabled ? t("key.enable") : t("key.disable")}
          </Button>
          <ObjectActions
            kind="provider"
            address={IDENTITY_PROVIDERS}
            object={provider}
            editedAt={`/identity-providers/${name}/edit`}
            consequences={[t("provider.disable.signIn"), t("provider.disable.sessions")]}
          />
        </>
      }
    >
      {ready?.status === "False" && !isDisabled && <NotReady condition={ready} />}
      <div className="card stack">
        <Facts
          items={[
            [
              t("provider.fact.state"),
              <ReadyBadge key="state" isDisabled={isDisabled} conditions={status.conditions} />,
            ],
            [t("provider.fact.issuer"), <code key="issuer">{spec.issuer?.url}</code>],
            [t("provider.fact.client"), <code key="client">{spec.clientId}</code>],
            [t("provider.fact.who"), spec.allowedGroups?.join(", ") || t("provider.everybody")],
            [t("provider.fact.users"), spec.createUsers === true ? t("provider.creates") : t("provider.known")],
            ...(spec.teams === undefined || spec.teams.length === 0
              ? []
              : [[t("provider.fact.teams"), spec.teams.join(", ")] as const]),
            [t("provider.fact.session"), duration(spec.sessionTTL ?? SESSION_SECONDS)],
          ]}
        />
        {status.redirectURI !== undefined && <Code label={t("provider.redirect")} text={status.redirectURI} />}
        {status.backChannelLogoutURI !== undefined && (
          <Code label={t("provider.logout")} text={status.backChannelLogoutURI} />
        )}
      </div>
      <Confirm
        isOpen={isAsked}
        onClose={() => setAsked(false)}
        title={isDisabled ? t("key.enable.title", { name }) : t("key.disable.title", { name })}
        action={isDisabled ? t("key.enable") : t("key.disable")}
        isDangerous={!isDisabled}
        consequences={
          isDisabled ? [t("provider.enable.again")] : [t("provider.disable.signIn"), t("provider.disable.sessions")]
        }
        onConfirm={() =>
          createResourceClient<IdentityProvider>(client, IDENTITY_PROVIDERS).patch(name, {
            type: "merge",
            patch: { spec: { disabled: isDisabled ? null : true } },
          })
        }
      />
    </Section>
  );
}
