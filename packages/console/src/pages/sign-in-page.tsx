// The sign-in page: identity providers and access keys.

import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { Button } from "../components/button.tsx";
import { TextField } from "../components/forms/text-field.tsx";
import { ErrorNotice, Notice } from "../components/notice.tsx";
import { type Provider, SessionError, signInWithKey } from "../session/session.ts";
import { useSession } from "../session/session-context.tsx";
import { t } from "../texts/text.tsx";

export function SignInPage({ providers }: { readonly providers: readonly Provider[] }) {
  const { hasEnded, check } = useSession();
  const [key, setKey] = useState("");
  const signIn = useMutation({
    mutationFn: signInWithKey,
    onSuccess: async () => {
      setKey("");
      await check();
    },
  });
  return (
    <main className="sign-in">
      <title>{`${t("signIn.title")} · Postern`}</title>
      <div className="sign-in-card">
        <svg className="logo" viewBox="0 0 32 32" aria-hidden="true">
          <rect width="32" height="32" rx="8" />
          <path d="M10 25V13a6 6 0 0 1 12 0v12M16 18v4" />
          <circle cx="16" cy="17" r="2.3" />
        </svg>
        <h1>{t("signIn.title")}</h1>
        {hasEnded && <Notice tone="info">{t("signIn.ended")}</Notice>}
        {providers.length > 0 && (
          <>
            <div className="stack">
              {providers.map(({ name, displayName, loginUrl }) => (
                <a key={name} className="button plain large" href={withReturn(loginUrl)}>
                  {t("signIn.with", { name: displayName })}
                </a>
              ))}
            </div>
            <p className="or">{t("signIn.or")}</p>
          </>
        )}
        <form
          className="stack"
          onSubmit={(event) => {
            event.preventDefault();
            signIn.mutate(key.trim());
          }}
        >
          <TextField
            label={t("signIn.key")}
            type="password"
            name="key"
            value={key}
            onChange={setKey}
            isMonospace
            autoFocus={providers.length === 0}
            description={t("signIn.keyHint")}
          />
          {signIn.isError && <ErrorNotice error={wordsOf(signIn.error)} />}
          <Button kind="primary" type="submit" isPending={signIn.isPending} isDisabled={key.trim() === ""}>
            {t("signIn.submit")}
          </Button>
        </form>
        <details className="aside">
          <summary>{t("signIn.where")}</summary>
          <p>{t("signIn.whereAnswer")}</p>
          <pre>
            <code>postern key create laptop --ttl 30d</code>
          </pre>
        </details>
      </div>
    </main>
  );
}

const wordsOf = (error: Error): Error =>
  error instanceof SessionError && error.status === 401 ? new Error(t("signIn.refused")) : error;

/** Returns to the page that was requested. */
function withReturn(loginUrl: string): string {
  const url = new URL(loginUrl, location.origin);
  url.searchParams.set("return", location.pathname + location.search);
  return url.pathname + url.search;
}
