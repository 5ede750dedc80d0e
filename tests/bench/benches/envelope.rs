//! Benchmarks of all cases. A criterion filter selects some: `cargo bench -- call-legacy`.

use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};

fn all(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("envelope");
    group.warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_millis(1500));
    for mut case in mcp_sansio_bench::cases(None) {
        group.throughput(Throughput::Bytes(case.bytes as u64));
        group.bench_function(&case.name, |bencher| bencher.iter(|| (case.run)()));
    }
}

criterion_group!(benches, all);
criterion_main!(benches);
