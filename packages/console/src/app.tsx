// The console as a React component.

import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode, useEffect, useMemo } from "react";
import { createRoot } from "react-dom/client";
import { ApiContext, createApi } from "./api/api-context.tsx";
import { createConnection } from "./api/connection.ts";
import { createLiveCollections } from "./api/live-collections.ts";
import { patientDelay } from "./api/patient-delay.ts";
import { Loading } from "./components/loading.tsx";
import { ErrorNotice } from "./components/notice.tsx";
import { SignInPage } from "./pages/sign-in-page.tsx";
import { router } from "./router.tsx";
import type { SignedIn } from "./session/session.ts";
import { SessionProvider, useSession } from "./session/session-context.tsx";

const queryClient = new QueryClient({
  // The API client retries if the server asks for it.
  defaultOptions: { queries: { retry: false, refetchOnWindowFocus: false } },
});
const connection = createConnection();
const shared = { connection, live: createLiveCollections(queryClient, patientDelay(connection)) };

function Root() {
  const { session, error, check } = useSession();
  if (session === undefined)
    return (
      <main className="sign-in">
        {error === null ? <Loading /> : <ErrorNotice error={error} onRetry={() => void check()} />}
      </main>
    );
  if (!session.signedIn) return <SignInPage providers={session.providers} />;
  // A new session starts with a new page.
  return <SignedInRoot key={session.keyName} session={session} />;
}

function SignedInRoot({ session }: { readonly session: SignedIn }) {
  const { check } = useSession();
  const { csrfToken, keyName } = session;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the session's other members change nothing in the API
  const api = useMemo(
    () => createApi(session, { ...shared, onDoubt: () => void check() }),
    [csrfToken, keyName, check],
  );
  useEffect(() => {
    // The browser knows before any request that it is offline or online.
    const lost = (): void => connection.lost();
    const ask = (): void => void api.client.request({ method: "GET", path: "/version" }).catch(() => undefined);
    addEventListener("offline", lost);
    addEventListener("online", ask);
    return () => {
      removeEventListener("offline", lost);
      removeEventListener("online", ask);
    };
  }, [api]);
  return (
    <ApiContext value={api}>
      <RouterProvider router={router} />
    </ApiContext>
  );
}

const place = document.getElementById("root");
if (place === null) throw new Error("the page has no place for the console");
createRoot(place).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <SessionProvider>
        <Root />
      </SessionProvider>
    </QueryClientProvider>
  </StrictMode>,
);
