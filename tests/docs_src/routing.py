import asyncio

import umi


async def main() -> None:
    models = {"fast": "small-model", "balanced": "middle-model", "strong": "large-model"}
    async with umi.Router.open(models, "umi.db", embedder=None, options=umi.RouteOptions(explore=0)) as router:
        for task in ("Prove that P != NP", "Fix typo in the author page", "Translate the release notes into German"):
            route = await router.choose(task)
            print(f"{route.model:13}", task)

        for _ in range(20):  # the small model's translations are sent back
            route = await router.choose("Translate the release notes into German")
            if route.tier == "fast":
                await router.feedback(route.id, outcome="failure")
        route = await router.choose("Translate the release notes into German")
        print(f"{route.model:13} why: {route.why}")


asyncio.run(main())
