// Identity providers, and what to configure at them for this server.

import "./trust/trust-texts.ts";
import type { IdentityProvider } from "@postern/api/identity-provider";
import { IDENTITY_PROVIDERS, nameOf } from "../api/resources.ts";
import { useLive } from "../api/use-live.ts";
import { Code } from "../components/copy-text.tsx";
import { DescriptionList } from "../components/description-list.tsx";
import { DisableSwitch } from "../components/dialogs/disable-switch.tsx";
import { DocsLink } from "../components/docs-link.tsx";
import { EmptyState } from "../components/empty-state.tsx";
import { NewObjectLink } from "../components/forms/new-object-link.tsx";
import { Loading } from "../components/loading.tsx";
import { ErrorNotice } from "../components/notice.tsx";
import { ObjectActions } from "../components/object-actions.tsx";
import { PageHead, Section } from "../components/page-head.tsx";
import { useFirst } from "../components/tables/long-list.tsx";
import { useListSearch } from "../components/tables/use-list-search.tsx";
import { duration } from "../format/ages.ts";
import { t } from "../texts/text.tsx";
import { ClientSecret, placeOfSecret } from "./client-secret.tsx";
import { TestProvider } from "./trust/test-provider.tsx";
import { NotReady, ReadyBadge } from "./trust/trust-page.tsx";

/** The server's default. */
const SESSION_SECONDS = 12 * 60 * 60;

/** With more providers, there is a search above them. */
const SEARCHED_FROM = 5;

/** Each has a section of its own. */
const SHOWN = 10;

const searchedIn = (provider: IdentityProvider): string =>
  `${provider.spec.displayName ?? ""} ${nameOf(provider)} ${provider.spec.issuer.url}`;

export function ProvidersPage() {
  const { items, isLoading, error, retry } = useLive<IdentityProvider>(IDENTITY_PROVIDERS);
  const { shown, field } = useListSearch(items, t("providers.search"), searchedIn);
  const { first, more } = useFirst(shown, SHOWN);
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
        <EmptyState
          title={t("providers.empty.title")}
          actions={<DocsLink to="/docs/guides/sign-in#set-up-a-provider">{t("providers.empty.guide")}</DocsLink>}
        >
          {t("providers.empty.text")}
        </EmptyState>
      )}
      {items.length > SEARCHED_FROM && <div className="toolbar">{field}</div>}
      {first.map((provider) => (
        <Provider key={provider.metadata.uid} provider={provider} />
      ))}
      {more !== false && <div>{more}</div>}
    </>
  );
}

function Provider({ provider }: { readonly provider: IdentityProvider }) {
  const name = nameOf(provider);
  const { spec, status = {} } = provider;
  const { acrValues = [], maxAge } = spec.requiredAuthentication ?? {};
  const isDisabled = spec.disabled === true;
  const ready = status.conditions?.find(({ type }) => type === "Ready");
  return (
    <Section
      title={spec.displayName || name}
      lead={spec.description}
      actions={
        <ObjectActions
          kind="provider"
          address={IDENTITY_PROVIDERS}
          object={provider}
          editedAt={`/identity-providers/${name}/edit`}
          consequences={[t("provider.disable.signIn"), t("provider.disable.sessions")]}
        >
          <DisableSwitch
            address={IDENTITY_PROVIDERS}
            object={provider}
            disables={[t("provider.disable.signIn"), t("provider.disable.sessions")]}
            enables={[t("provider.enable.again")]}
          />
        </ObjectActions>
      }
    >
      {ready?.status === "False" && !isDisabled && <NotReady condition={ready} />}
      <div className="card stack">
        <DescriptionList
          items={[
            [t("field.state"), <ReadyBadge key="state" isDisabled={isDisabled} conditions={status.conditions} />],
            [t("field.issuer"), <code key="issuer">{spec.issuer.url}</code>],
            [t("provider.fact.client"), <code key="client">{spec.clientId}</code>],
            [t("provider.fact.who"), spec.allowedGroups?.join(", ") || t("provider.everybody")],
            acrValues.length > 0 && [t("provider.fact.acr"), <code key="acr">{acrValues.join(", ")}</code>],
            maxAge !== undefined && [t("provider.fact.maxAge"), duration(maxAge)],
            [t("users.title"), spec.createUsers === true ? t("provider.creates") : t("provider.known")],
            spec.teams !== undefined && spec.teams.length > 0 && [t("provider.fact.teams"), spec.teams.join(", ")],
            [t("provider.fact.session"), duration(spec.sessionTTL ?? SESSION_SECONDS)],
          ]}
        />
        {spec.clientSecretRef !== undefined && <ClientSecret place={placeOfSecret(spec.clientSecretRef)} />}
        {status.redirectURI !== undefined && <Code label={t("provider.redirect")} text={status.redirectURI} />}
        {status.clientKeysURI !== undefined && <Code label={t("provider.clientKeys")} text={status.clientKeysURI} />}
        {status.backChannelLogoutURI !== undefined && (
          <Code label={t("provider.logout")} text={status.backChannelLogoutURI} />
        )}
        <TestProvider name={name} />
      </div>
    </Section>
  );
}
