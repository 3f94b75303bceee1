// The signed-in user, for the whole page. Other windows of the browser learn at once when the session ends.

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { createContext, type ReactNode, useCallback, useContext, useEffect, useMemo, useRef, useState } from "react";
import { readSession, type Session, signOut } from "./session.ts";

export type SessionControl = {
  /** Undefined while loading. */
  readonly session: Session | undefined;
  readonly error: Error | null;
  /** True if a session ended in this window. */
  readonly hasEnded: boolean;
  /** Asks the server again. */
  readonly check: () => Promise<void>;
  /** Signs out. */
  readonly end: () => Promise<void>;
};

const SESSION = ["session"];
const SessionContext = createContext<SessionControl | undefined>(undefined);

export function SessionProvider({ children }: { readonly children: ReactNode }) {
  const queries = useQueryClient();
  const { data: session, error } = useQuery({
    queryKey: SESSION,
    queryFn: ({ signal }) => readSession(signal),
    staleTime: 60_000,
    refetchOnWindowFocus: "always",
    retry: 2,
  });
  const channel = useRef<BroadcastChannel>(null);
  const wasSignedIn = useRef(false);
  const hasSignedOut = useRef(false);
  const [hasEnded, setEnded] = useState(false);

  const check = useCallback(() => queries.invalidateQueries({ queryKey: SESSION }), [queries]);
  const csrfToken = session?.signedIn === true ? session.csrfToken : undefined;
  const end = useCallback(async () => {
    hasSignedOut.current = true;
    if (csrfToken !== undefined) await signOut(csrfToken);
    channel.current?.postMessage("changed");
    await check();
  }, [csrfToken, check]);

  useEffect(() => {
    channel.current = new BroadcastChannel("postern-session");
    channel.current.onmessage = () => void check();
    return () => channel.current?.close();
  }, [check]);

  useEffect(() => {
    if (session === undefined) return;
    if (!session.signedIn && wasSignedIn.current) {
      setEnded(!hasSignedOut.current);
      // Nothing that was shown stays in memory.
      queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== SESSION[0] });
    }
    if (session.signedIn) {
      setEnded(false);
      hasSignedOut.current = false;
    }
    wasSignedIn.current = session.signedIn;
  }, [session, queries]);

  const control = useMemo(() => ({ session, error, hasEnded, check, end }), [session, error, hasEnded, check, end]);
  return <SessionContext value={control}>{children}</SessionContext>;
}

export function useSession(): SessionControl {
  const control = useContext(SessionContext);
  if (control === undefined) throw new Error("no session here");
  return control;
}
