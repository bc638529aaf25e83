/** As much of it as tests use; the types of Workers leave Node's modules out, and `src/` has none of them. */
declare module "node:async_hooks" {
  export class AsyncLocalStorage<T> {
    run<R>(store: T, act: () => R): R;
    getStore(): T | undefined;
  }
}
